# %% [markdown]
# # 3. The price paradox
#
# **The one idea:** for every [token] the [waiter] wheels in the whole [sack], and somebody pays for the
# [chef] who waits meanwhile. A token gets cheaper through company, never through brevity.
#
# **You will be able to**
# - turn seconds into dollars: what a token costs on a chip that you rent;
# - explain why output ([decode]) costs more than input ([prefill]) on most [price sheets][price sheet], and
#   where the explanation ends;
# - read a price sheet line by line, [cached input] and [reasoning tokens][reasoning token] included;
# - spot a speed claim that is impossible, or that leaves out which machine was measured;
# - say when a kitchen of your own pays.
#
# **You need** [Prefill vs decode](02_prefill_vs_decode.ipynb). **Time:** 40 minutes: 25 to read and play,
# 15 for the exercises. *More* takes 15 on top.

# %% [markdown]
# ## The kitchen in this notebook
#
# | in the kitchen | in the machine |
# |---|---|
# | the rent | dollars for a [chip-hour], paid whether the kitchen is full or empty |
# | the menu | the price sheet: dollars for a million tokens read, and for a million written |
# | [guests][guest] on one trip | the [batch] |
# | opening hours with guests | [occupancy] |
#
# This notebook rents four [H100s][H100], so that the sack fits and guests with notes ([notepads][notepad])
# fit beside it. Prices
# change from month to month: every one here has its date, and comes from a list with a source.

# %%
import numpy as np

import kitchenlib as kl
from kitchenlib import llm
from kitchenlib.exercises.price_paradox import check, look_back, predict, progress, solution
from kitchenlib.measured import measurement
from kitchenlib.plots import price_paradox as plots
from kitchenlib.widgets import BillExplorer

h100 = kl.chip("H100 SXM")
llama = kl.model("Llama-2-70B")
row = kl.chip_hour(provider="Nebius", chip="H100 SXM")

print(f"{row.provider}, {row.published_chip}: {kl.dollars(row.usd)} an hour ({row.date})")

# %% [markdown]
# ## Predict
#
# *Short and few orders ease the kitchen's workload.* It sounds like common sense. Two guesses about it:

# %%
predict("half-the-reply")

# %%
predict("one-word")

# %% [markdown]
# ## One guest alone
#
# One guest, 2,048 tokens of notes, four chips. A token costs what its share of the time costs: seconds,
# times four chips, times the price of a second. How much is that for a million tokens? Price sheets
# count in millions.

# %%
step = kl.decode_step(llama, context=2048, chips=4)
seconds = step.time(h100)

print("one token     ", kl.human(seconds, "s"))
print("carried       ", kl.human(4 * step.bytes, "B"), "by four waiters")
print("a million cost", kl.dollars(seconds * 4 * row.usd / 3600 * 1e6))
print(f"chef busy      {step.utilization(h100):.2%}")

# %% [markdown]
# Over thirty dollars. The price sheets further down ask a few dollars, for better models. Something must be
# done about that. First the fallacy: does it help to be brief? `price_per_million` does the sum above,
# for tokens that are read (input) and written (output). Watch the price of a token as the notes grow.

# %%
plots.cost_alone()

# %% [markdown]
# The sack is the baseline of every single token. What a short order saves is notes: at 2,048 tokens they
# are half a percent of the price. And an order of one word?

# %%
for prompt in (1, 10, 100, 1000):
    print(f"reading {prompt:5,} tokens: {kl.human(kl.ttft(llama, h100, prompt, chips=4), 's')}")

# %%
look_back("one-word")

# %%
look_back("half-the-reply")

# %% [markdown]
# So the fallacy has it backwards. Short orders and few guests do not make the kitchen cheaper. They make it
# *emptier*, at the same price.

# %% [markdown]
# ## The waiting chef
#
# Think of the trip of the sack as a freight train. It runs anyway, and takes as long, for one passenger or
# for many. How many seats does it have?

# %%
plots.empty_seats()

# %% [markdown]
# The train has as many seats as the [ridge point] says: 295 tokens could be served in the time of one. With
# one guest, more than 99 cents of each dollar pay for a chef who waits.
#
# What would that time have bought? One hour of the four chips, all [FLOPs][FLOP] used, against one hour with
# one guest:

# %%
hour = 3600 * 4 * h100.peak()
used = 3600 / seconds * 4 * step.flops

print("paid for ", kl.human(hour, "FLOP"), "for", kl.dollars(4 * row.usd))
print("used     ", kl.human(used, "FLOP"), f"({used / hour:.2%})")

# %% [markdown]
# ### Fill the seats
#
# Every further guest on the same trip is nearly free, until the notes weigh as much as the sack. How far
# down does the price go, and what ends each line?

# %%
plots.cost_by_batch()

# %% [markdown]
# From over thirty dollars to a third of one, by company alone. No chip got faster. Two things bend the
# lines: each guest's notes have to be carried for that guest alone, and in the end the [warehouse] is full.
# Long notes hit both sooner.

# %% [markdown]
# ## Why output costs more than input
#
# Reading is a flood: 2,048 tokens share one trip even for a single guest. Writing is a
# drip: tokens share nothing unless guests are many. So the price of a written token, divided by that
# of a read one, falls with the number of guests.
#
# How real is the law here? Reading reaches perhaps 40% of the [peak], and writing perhaps 70% of the
# [bandwidth]. Such a pair of shares is called an [efficiency], and the library has some with a name and a
# source. Three of them make three curves. To keep it plain, one chip with a bigger warehouse:

# %%
plots.ratio_by_batch()

# %% [markdown]
# The grey band is real: it is what price sheets ask, and comes next. Its middle is *consistent with* 33 guests,
# or 50, or 106, depending on the efficiency you believe. So a ratio tells you little about how full a kitchen
# is. But all three curves agree on the direction: output stays dearer than input, even with 128 guests.
#
# ### And on real price sheets?
#
# How often is output dearer, by how much, and where not at all? Each brick is one dated row. (The sample was
# picked, so it is no census; hollow bricks were added *because* they are exceptions, and are left out of the
# statistics.)

# %%
plots.price_ratios()

# %% [markdown]
# "Output costs more on *every* price sheet", people say. On most. The exceptions are worth a look:
#
# - **Equal prices**: small open models, mostly (Ministral 8B, Mistral 7B), and a model of 2022
#   (text-davinci-003). One price is easier to sell: whoever reads much pays for whoever writes much.
# - **Below one**: a safety classifier (llama-guard), which reads a conversation and writes a few tokens. Its
#   price is that of reading.
# - **Far above**: up to 13.8 times. Fewer guests could cause that, or less competition: nothing on the sheet
#   tells.
#
# The law says which way the ratio points. It is consistent with the sheets. It does not *explain* them, since
# a price is what a market bears.

# %% [markdown]
# ### Reading one line of a sheet
#
# Four kinds of tokens, three prices. A prompt of 8,000 tokens, of which 6,000 are the same instructions as
# last time (cached input), 1,000 hidden tokens of reasoning, and a reply of 300:

# %%
sheet = kl.sheet_price(provider="openai", model="gpt-5-mini")
price = sheet.price

print(f"{sheet.provider} {sheet.model}, {sheet.when}")
print(f"input {price.input}, cached {price.cached}, output {price.output} dollars a million")
print(f"plain          {100 * price.request(8000, 300):.3f} cents")
print(f"cached         {100 * price.request(8000, 300, cached=6000):.3f} cents")
print(f"and reasoning  {100 * price.request(8000, 300, cached=6000, reasoning=1000):.3f} cents")

# %% [markdown]
# Cached input is cheap because the flood was paid for the first time: the notes are still there, and only
# fresh tokens go through the sack. Reasoning is dear because each hidden token is a drip like any other. A
# [printable page](../figures/price-sheet-reader.svg) has these steps for your own sheet.

# %% [markdown]
# ## Two numbers, two machines
#
# A price sheet has a number for each machine. A *speed* often has one for both. Three public claims, all of
# them true, about the same model on the same chip. Which machine did each of them measure?

# %%
claims = [measurement(id=name) for name in ("M0797", "M1940", "M1944")]

for claim in claims:
    print(
        f"{claim.value:7,.0f} tokens/s  {claim.published_model}, {claim.published_chip}, {claim.engine}"
    )

# %% [markdown]
# The number does not say. The conditions do, with the law's estimate of how the time was spent, for a reply of
# 128 tokens:

# %%
a100, small = kl.chip("A100 SXM 80GB"), kl.model("Llama-2-7B")

for claim in claims:
    conditions = {"prompt": claim.prompt, "batch": claim.batch}
    whole = kl.request_time(small, a100, reply=128, **conditions)
    reading = kl.ttft(small, a100, **conditions) / whole
    print(
        f"{claim.value:7,.0f} tokens/s  {claim.batch:2} guests, {claim.prompt:5,} tokens read each, "
        f"reading {reading:3.0%} of the time"
    )

# %% [markdown]
# The first is the waiter with one guest. The second is the waiter again, with 64 guests counted together: each
# of them sees 65 tokens per second, fewer than the one guest of the first. In the third the 64 guests bring
# long prompts. The chef reads them for half of the time, and the number divides by that time, too. Forty times
# between the largest and the smallest, and the chip is the same. So ask: whose tokens, whose seconds?
#
# ### Claims that cannot be true
#
# The law has a use that needs no measurement: it says what is impossible. Divide the bandwidth by the bytes
# of one step. Nobody writes faster than that for one guest.

# %%
plots.claims_and_floors()

# %% [markdown]
# 110 tokens per second from a 70B model in 16 bit on one H100: the waiter would have to run more than four
# times as fast as he can. But the same number is fine for four-bit weights on eight chips, or for 32 guests
# counted together. An impossible claim is usually a true one that has lost its conditions.

# %% [markdown]
# ## Play: your bill
#
# Your guests, your kitchen, and a price sheet beside it. When does renting pay? Try one request a minute.
# Try a kitchen that is full by day and empty by night (occupancy 50%). Try a longer prompt, most of it cached.

# %%
BillExplorer()

# %% [markdown]
# Below the [break-even] the sheet is cheaper, since there your empty seats are filled by strangers. Above it
# your own kitchen is, if you can fill it. And if your own cost for each request is above the sheet's, no
# number of guests helps.

# %% [markdown]
# ## The trap to avoid
#
# *Cheap by the token is cheap by the answer.* Two real rows, one question of 1,000 tokens. The first model
# thinks for 4,000 hidden tokens, the second answers at once (so we assume: ask your own logs):

# %%
thinker = kl.sheet_price(provider="google", model="gemini-2.5-flash")
plain = kl.sheet_price(provider="openai", model="gpt-4.1")

for name, sheet, hidden in (("thinks", thinker, 4000), ("answers", plain, 0)):
    cost = sheet.price.request(1000, 300, reasoning=hidden)
    print(
        f"{name:8} output {kl.dollars(sheet.price.output)} a million, {100 * cost:.2f} cents an answer"
    )

# %% [markdown]
# A third of the price for each token, and two and a half times the bill. Compare what an answer costs, not
# what a token costs: count the tokens first.

# %% [markdown]
# ## Where the kitchen leaks
#
# 1. **Empty nights.** All prices above are for a kitchen with guests all the time. At an occupancy of 25%
#    each token costs four times as much.
# 2. **Guests come when they like.** The law serves a full train. Real guests arrive one by one, and a train
#    that waits to be full keeps the first ones waiting.
# 3. **Chips are not all of it.** Hosts, network, failed requests, a spare kitchen for the day when one
#    breaks, the smallest number of chips that a provider rents out. And people.
# 4. **Nothing reaches the law.** Shares of 40% and 70% are planning numbers. Published decodes of one guest
#    lie between 39% and 87% of the law.
# 5. **Four fixes are missing.** Lighter weights and guessed tokens (the next notebook) change the price, and
#    providers use them.
# 6. **Prices are not costs.** A provider may sell below its costs to win you, or far above.

# %% [markdown]
# ## Exercises
#
# ### A small kitchen
# Llama-3.1-8B in [bf16] serves one guest on an L40S that costs \$1.5484 an hour. The waiter carries 864 GB/s,
# the sack has 15.01 GB to carry; leave out the notes. What do a million written tokens cost, in **dollars**?

# %%
dollars = 15.01 / 864 / 3600 * 1.5484 * 1e6  # solution
check("small-kitchen", dollars)

# %%
solution("small-kitchen")

# %% [markdown]
# ### Paid to wait
# 32 guests with 2,048 tokens of notes each share the trips (Llama-2-70B, bf16, one ideal H100 with a bigger
# warehouse). Which share of each dollar pays for a chef who waits? Answer in **%**.

# %%
percent = 100 * (1 - kl.decode_step(llama, context=2048, batch=32).utilization(h100))  # solution
check("waiting", percent)

# %%
solution("waiting")

# %% [markdown]
# ### The price of a token
# A step takes so many seconds, serves so many guests, and runs on so many chips, each at `chip_hour` dollars
# an hour. Write the **dollars** for a million written tokens.


# %%
def dollars_per_million(seconds, guests, chips, chip_hour):
    return seconds * chips * chip_hour / 3600 / guests * 1e6  # solution


check("price", dollars_per_million)

# %%
solution("price")

# %% [markdown]
# ### Four times
# From how many **guests** on does a written token cost at most four times a read one, at the efficiency
# `"planned"` (Llama-2-70B in bf16, 2,048 tokens, one H100 with a bigger warehouse)?
# `kl.price_per_million` takes an array of guests, and its `.ratio` is output over input.

# %%
guests = np.arange(1, 200)
planned = kl.efficiency("planned")
ratios = kl.price_per_million(
    llama, h100, 1, 2048, batch=guests, efficiency=planned
).ratio  # solution
fewest = guests[np.argmax(ratios <= 4)]  # solution
check("four-times", fewest)

# %%
solution("four-times")

# %% [markdown]
# ### Read a bill
# A request to gpt-5.1 (price of 2026-08-05, in dollars per million: input 1.25, cached input 0.125, output
# 10) has a prompt of 8,000 tokens, 6,000 of them cached, and 1,500 hidden tokens of reasoning before a reply
# of 500. What does it cost, in **cents**?

# %%
price = kl.sheet_price(provider="openai", model="gpt-5.1").price
cents = 100 * price.request(8000, 500, cached=6000, reasoning=1500)  # solution
check("bill", cents)

# %%
solution("bill")

# %% [markdown]
# ### When renting pays
# Four H100s cost \$2.95 an hour each. On a price sheet a request costs 0.4 cents. From how many **requests a
# day** on is the rent no dearer than the sheet, if the kitchen can serve them all?

# %%
requests = 4 * 2.95 * 24 / 0.004  # solution
check("break-even", requests)

# %%
solution("break-even")

# %% [markdown]
# ### An impossible claim
# *Llama-2-70B in 16 bit writes 60 tokens per second for every guest, on two H100s.* What is the most that the
# law allows for **one** guest with an empty notepad, in **tokens per second**? Take the `floor` of a decode
# step: the time if all overlapped.

# %%
fastest = 1 / kl.decode_step(llama, context=0, chips=2).floor(h100)  # solution
check("impossible", fastest)

# %%
solution("impossible")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - A token costs its share of the time of all chips, whether they work or wait in it.
# - Being brief saves notes, not the sack. Company is what makes a token cheap: from over thirty dollars a
#   million to a third of one.
# - Output is dearer than input because reading always fills the train and writing has to wait for guests. Most
#   price sheets point the same way; markets do the rest.
# - One number for a price or a speed hides which tokens were counted. Ask which machine was measured.
#
# **What it sets up:** the waiter is the bottleneck, and the chef has time to spare. Four fixes attack it: make
# the sack lighter, fill the train, thin the notes, guess ahead. The next notebook tries all four, on the law
# and on a real model.

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### The same dish at several prices
#
# A sheet often has several prices for the same tokens. Three reasons stand in the picture. Which of them does
# the kitchen know?

# %%
plots.price_switches()

# %% [markdown]
# All three. Cached input skips the flood; what remains is to keep the notes and to look back at them. In a long
# prompt each token looks back further, so reading it costs more, while the sack for each written token is the
# same: input doubles, and output often does not. And at peak hours the seats are taken.

# %% [markdown]
# ### Which chip, per dollar?
#
# A chip is two numbers, so chips have no order: one reads faster, another writes faster. Chips on the same
# dashed line have the same [ridge point]. Which pairs would you get wrong if you compared
# [FLOP/s] alone?

# %%
plots.two_numbers()

# %% [markdown]
# And per dollar? The stronger chip need not be the better bargain. Four workloads; each chip is filled with
# guests, at the efficiency called "planned", and rented at its dated price:

# %%
plots.per_dollar()

# %% [markdown]
# The newest chip wins everywhere, and costs the most by the hour. Below it the order depends on the work: an
# H100 reads more for a dollar than an A100, and an A100 writes more. But the efficiency is assumed to be the same
# for all of them. Two cards measured in one table, with the same model, one guest:

# %%
for name, provider in (("L40S", "Nebius"), ("A100 PCIe 80GB", "RunPod")):
    rent = kl.chip_hour(chip=name, provider=provider).usd
    same = {"source": "XiongjieDai GPU-Benchmarks", "chip": name, "chips": 1}
    same |= {"model": "Llama-3.1-8B", "weights": "Q4_K_M"}
    reads = measurement(prompt=1024, **same).value
    writes = measurement(output=1024, **same).value
    print(f"{name:14}  reads {reads:,.0f} tokens/s, writes {writes:.1f}")
    print(f"{'':14}  {writes * 3600 / rent:,.0f} written tokens for a dollar")

# %% [markdown]
# The card with the stronger chef reads a little faster, and loses the chat: fewer words a second, and fewer
# for a dollar.

# %% [markdown]
# ### Energy, the second currency
#
# A [joule] is a watt for a second, so a token has a price in joules as well. `energy_per_token` takes a chip's
# rated power. What does company do to it?

# %%
for guests in (1, 32):
    energy = kl.energy_per_token(llama, h100, context=2048, batch=guests, chips=4)
    print(f"{guests:2} guests: {energy.output:5.1f} J written, {energy.input:.2f} J read")

# %% [markdown]
# For one guest a million written tokens take 8 kWh, as much as a household uses in a day; with 32 guests, a
# twenty-fifth of it. The law is the same, since joules and dollars are two currencies of the same seconds.
#
# And your own kitchen? It has no rent, but it draws power. Put in what your machine draws under load (a laptop
# perhaps 30 W) and what you pay for a kilowatt-hour. The model is the one of notebook 2.

# %%
watts, dollars_per_kwh = 30, 0.30  # your own numbers here
smol = llm.load()

# %% tags=["nbval-ignore-output"]
pace = smol.timed(smol.chat("What does a kitchen cost?"), tokens=24).tpot
joules = watts * pace
kwh = joules * 1e6 / 3.6e6

print(f"one written token   {pace * 1e3:.1f} ms, {joules:.2f} J")
print(f"a million of them   {kwh:.2f} kWh, {kl.dollars(kwh * dollars_per_kwh)}")

# %% [markdown]
# Cheap, for one guest alone, and a model 500 times smaller than the one above. Small sacks are the other way to a
# cheap token.
