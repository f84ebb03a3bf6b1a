# %% [markdown]
# # 3. The price paradox
#
# **The one idea:** for every [token] the [waiter] wheels in the whole [sack], and somebody pays for the
# [chef] who waits meanwhile. Company makes a token cheap. Brevity does not.
#
# **You will be able to**
# - turn seconds into dollars: what a token costs on a chip that you rent;
# - say why writing ([decode]) costs a kitchen more than reading ([prefill]), and how far
#   [price sheets][price sheet] agree;
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
# | the rent | dollars for each [chip-hour] |
# | the menu | the price sheet: dollars for a million tokens read, and for a million written |
# | [guests][guest] on one trip | the [batch] |
# | opening hours with guests | [occupancy] |
#
# This notebook rents four [H100s][H100], so that the sack fits and guests with notes ([notepads][notepad])
# fit beside it. Prices
# change from month to month. Every one here carries the date of its source, as exact as the source gives it.

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
# *Few guests with short orders: an easy day for the kitchen, and a cheap one.* It sounds like common sense. Two
# guesses about it:

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
# Over thirty dollars. On a price sheet a million tokens of a model of this shape cost \$2.25 (llama-3.3-70b in
# [fp8], Cloudflare, 2025). Where does the difference come from? Not from long orders: watch the price of one
# token as the notes grow. (The picture takes the successor, Llama-3.1-70B, which can read longer prompts. Its
# sack is 1% heavier.)

# %%
plots.cost_alone()

# %% [markdown]
# The sack is the baseline of every single token. A short order saves notes, and at 2,048 tokens they are half a
# percent of the price. A short reply saves whole trips, too, one for each token that is not written. Neither
# makes the next token cheaper. And an order of one word?

# %%
for prompt in (1, 10, 100, 1000):
    print(f"reading {prompt:5,} tokens: {kl.human(kl.ttft(llama, h100, prompt, chips=4), 's')}")

# %%
look_back("one-word")

# %% [markdown]
# (What little the hundred add is mostly the exchange between four chips. At a thousand tokens it is a flood, and
# the chef sets the pace.)
#
# Now the hundred guests a day of your first guess. What does one of their tokens cost, and for how long does the
# kitchen work?

# %%
day = 24 * 4 * row.usd
for reply in (400, 200):
    tokens = 100 * reply
    print(
        f"100 replies of {reply}: {kl.dollars(day)} a day, {kl.dollars(day / tokens * 1e6)} a million"
    )
    print(f"{'':19} kitchen busy for {tokens * seconds / 60:.1f} minutes")

# %%
look_back("half-the-reply")

# %% [markdown]
# So the fallacy has it backwards. Short orders and few guests do not make a kitchen cheap. They make it empty, at
# the same rent.

# %% [markdown]
# ## The waiting chef
#
# From here on there is always a guest. (And one ideal chip with a bigger [warehouse], to keep the picture plain.)
# Think of the trip of the sack as a freight train. It runs anyway, and
# takes as long, for one passenger or for many. How many seats does it have?

# %%
plots.empty_seats()

# %% [markdown]
# The train has as many seats as the [ridge point] says: 295 tokens could be served in the time of one. With
# one guest, more than 99 cents of each dollar pay for a chef who waits. (The same dollar rents the waiter, who
# never rests.) Notes are luggage: with 2,048 tokens each, a trip takes longer the more guests ride along.
#
# What would the idle time have bought? In one hour the chefs of four chips could make the [cuts][cut] for so many
# tokens, and make them for so few:

# %%
could = 3600 * h100.peak() / step.flops
does = 3600 / seconds

print(f"paid for  {could / 1e6:6.1f} million tokens")
print(f"written   {does / 1e6:6.1f} million tokens ({does / could:.2%})")

# %% [markdown]
# ### Fill the seats
#
# Back to four chips. Every further guest on the trip adds a notepad, and nothing else. How far down does the price go, and what ends
# each line?

# %%
plots.cost_by_batch()

# %% [markdown]
# From over thirty dollars to a third of one, by company alone, and no chip got faster. Notes bend the lines, a
# busy chef flattens the lowest one, and a full warehouse ends each. Once all notepads together weigh as much as
# the sack, more company can at most halve the price. And it has its own price: each guest now gets 40 tokens per second
# instead of 96.

# %% [markdown]
# ## Why output costs more than input
#
# Reading is a flood: 2,048 tokens share one trip even for a single guest. Writing is a
# drip: tokens share nothing unless guests are many. `price_per_million` does for both what you did above for
# writing: input is read, output is written. To keep it plain, one chip with a bigger warehouse.

# %%
for guests in (1, 32):
    price = kl.price_per_million(llama, h100, row.usd, context=2048, batch=guests)
    print(
        f"{guests:2} at a time: read {kl.dollars(price.input)}, written {kl.dollars(price.output)}, "
        f"ratio {price.ratio:.1f}"
    )

# %% [markdown]
# Guests change the price of writing, and not that of reading. So the ratio falls with their number. How far, in
# a real kitchen? Reading reaches perhaps 40% of the [peak], and writing perhaps 70% of the [bandwidth]. Such a
# pair of shares is called an [efficiency], and the library has some with a name and a source. Three of them make
# three curves:

# %%
plots.ratio_by_batch()

# %% [markdown]
# The grey band is what price sheets ask, and comes next. Its middle is *consistent with* 33 guests,
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
# - **Equal prices**: nearly all from one firm, Mistral, and mostly for small models. Perhaps one price is easier
#   to sell. No sheet says why.
# - **Below one**: a safety classifier (llama-guard), which reads a conversation and writes a few tokens, and a
#   model that draws pictures (gpt-5-image-mini).
# - **Far above**: up to 13.8 times. Few guests could cause that, or little competition. Nothing on the sheet
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
# Cached input costs the kitchen little, since the notes are still there and only fresh tokens go through the sack. Reasoning is dear because each hidden token is a drip like any other. A
# [printable page](../figures/price-sheet-reader.svg) has these steps for your own sheet.

# %% [markdown]
# ## Two numbers, two machines
#
# A price sheet has a number for each machine. A *speed* often has one for both. Three public claims, all of
# them measured, about the same model on the same chip. Which machine did each of them measure?

# %%
claims = [measurement(id=name) for name in ("M0797", "M1940", "M1944")]

for claim in claims:
    print(
        f"{claim.value:7,.0f} tokens/s  {claim.published_model}, {claim.published_chip}, {claim.engine}"
    )

# %% [markdown]
# The number does not say. The conditions do, with the law's estimate of how the time was spent. (For replies of
# 128 tokens, as in the second and third test. The first does not say how long its replies are.)

# %%
a100, small = kl.chip("A100 SXM 80GB"), kl.model("Llama-2-7B")

for claim in claims:
    conditions = {"prompt": claim.prompt, "batch": claim.batch}
    whole = kl.request_time(small, a100, reply=128, **conditions)
    reading = kl.ttft(small, a100, **conditions) / whole
    print(
        f"{claim.value:7,.0f} tokens/s  at a time {claim.batch:2}, prompt {claim.prompt:5,}, "
        f"reading {reading:3.0%} of the time"
    )

# %% [markdown]
# The first is the waiter with one guest. The second is the waiter again, with 64 guests counted together: each
# of them sees 65 tokens per second, fewer than the one guest of the first. In the third the 64 guests bring
# long prompts. By the law the chef reads for half of the time, and the number divides by that time, too. In the
# other half the waiter carries 64 notepads, five times the weight of the sack. (By our count 59 of them fit at once.
# The test may have let some wait, and divided by that as well.) Forty times between the largest and
# the smallest, and the chip is the same. So ask: whose tokens, whose seconds?
#
# ### Claims that cannot be true
#
# The law has a use that needs no measurement: it says what is impossible. Divide the bandwidth by the bytes
# of one step. Nobody writes faster for one guest, as long as each trip gives one token. (Notebook 4 guesses ahead,
# and gets several.)

# %%
plots.claims_and_floors()

# %% [markdown]
# 110 tokens per second from a 70B model in 16 bit on one H100: the waiter would have to run more than four
# times as fast as he can. But the same number is fine for four-bit weights on two chips, for 16 bit on eight, or
# for 32 guests counted together. An impossible claim is often a true one that has lost its conditions.

# %% [markdown]
# ## Play: your bill
#
# Your guests, your kitchen, and a price sheet beside it. When does renting pay? Try 1,000 requests a day, then
# 100,000. Let 4 guests share a trip instead of 32: does it ever pay? Take a sheet with a price for cached input
# (gpt-5-mini), and move the cached share.

# %%
BillExplorer()

# %% [markdown]
# Below the [break-even] the sheet is cheaper, since there you pay for what you use. Above it your own kitchen is,
# until it is full: a second one starts empty, and the same question begins again. And where a request costs more
# in your own kitchen than on the sheet, no number of requests helps. More guests on each trip may.

# %% [markdown]
# ## The trap to avoid
#
# *Cheap by the token is cheap by the answer.* Two real rows, one question of 1,000 tokens. The first model
# thinks for 4,000 hidden tokens, the second answers at once (so we assume: ask your own logs):

# %%
thinker = kl.sheet_price(provider="google", model="gemini-2.5-flash")
plain = kl.sheet_price(provider="openai", model="gpt-4.1")

for sheet, hidden in ((thinker, 4000), (plain, 0)):
    cents = 100 * sheet.price.request(1000, 300, reasoning=hidden)
    print(f"{sheet.model}, {sheet.when}: {kl.dollars(sheet.price.output)} a million written")
    print(f"    with {hidden:,} hidden tokens {cents:.2f} cents an answer")

# %% [markdown]
# A third of the price for each token, and two and a half times the bill. Compare what an answer costs, not
# what a token costs: count the tokens first.

# %% [markdown]
# ## Where the kitchen leaks
#
# 1. **Empty nights.** From the train on, all prices are for a kitchen with guests all the time. At an [occupancy]
#    of 25% each token costs four times as much.
# 2. **Guests come when they like.** The law serves a full train. Real guests arrive one by one, and a train that
#    waits to be full keeps the first ones waiting.
# 3. **Chips are not all of it.** Network, failed requests, a spare kitchen for the day when one breaks, chips that
#    are rented out by the box (a B200 in eights here, \$44 an hour). And people.
# 4. **Nothing reaches the law.** Shares of 40% and 70% are planning numbers. In one table (Llama-3.1-8B in 16 bit,
#    one card, one guest) decodes lie between 39% and 87% of the law. More chips reach less.
# 5. **Two of the four fixes are missing.** Lighter weights and guessed tokens come in the next notebook, and they
#    show on sheets: a million tokens of the same 8B cost 82.7 cents in 16 bit and 28.7 cents in fp8 at one host
#    (Cloudflare, 2025).
# 6. **Prices are not costs.** A provider may sell below its costs to win you, or far above.

# %% [markdown]
# ## Exercises
#
# ### Paid to wait
# 64 guests with 4,096 tokens of notes each share the trips (Llama-2-70B in [bf16], one ideal H100 with a bigger
# warehouse). Which share of each dollar pays for a chef who waits? Answer in **%**.

# %%
percent = 100 * (1 - kl.decode_step(llama, context=4096, batch=64).utilization(h100))  # solution
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
# - Brevity saves notes, and trips that are not made. It does not make a token cheaper, and in a kitchen rented by
#   the hour it saves nothing. Company does: from over thirty dollars a million to a third of one.
# - By the law writing costs more than reading, since a prompt of a few hundred tokens fills the train alone, and
#   writing waits for guests. Most price sheets point the same way. That is agreement, not proof.
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
# One of them, and half of another. Cached input skips the flood: by the law such a token costs a few percent of a
# fresh one (and the room that its notes take while they wait). A long prompt is dearer to read, since each token
# looks back further. But in company it makes *writing* dearer still:

# %%
long = kl.model("Llama-3.1-70B")
for context in (2048, 32768):
    price = kl.price_per_million(long, h100, row.usd, context, batch=32, chips=4)
    print(
        f"{context:6,} tokens: read {kl.dollars(price.input)}, written {kl.dollars(price.output)}"
    )

# %% [markdown]
# The sheets raise the price of input more than that of output, or both alike. The kitchen does not know why. And at
# peak hours the train is full, which makes a token *cheap* to serve: such a price keeps guests away, or earns what
# it can.

# %% [markdown]
# ### Which chip, per dollar?
#
# A chip is two numbers, so chips have no order: one reads faster, another writes faster. Chips on the same
# dashed line have the same [ridge point]. Which pairs would you get wrong if you compared
# peaks alone?

# %%
plots.two_numbers()

# %% [markdown]
# And per dollar? The stronger chip need not be the better bargain. Four workloads; each chip is filled with
# guests, at the efficiency called "planned", and rented at its dated price:

# %%
plots.per_dollar()

# %% [markdown]
# Of these rows the newest chip wins everywhere, and costs the most by the hour. Below it the order depends on the
# work: an H100 reads more for a dollar than an A100, and an A100 writes more. It depends on the landlord, too: at
# Lambda's price for an H100 (\$4.29), the A100 wins every column. And the efficiency is assumed to be the same for
# all chips. Is it? Two cards measured in one table, with the same model, one guest, at the two prices above:

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
# The card with the stronger chef reads a little faster, and loses the chat: fewer words a second, and at these two
# prices fewer for a dollar.

# %% [markdown]
# ### Energy, the second currency
#
# A [joule] is a watt for a second, so a token has a price in joules as well. `energy_per_token` takes a chip's
# rated power. What does company do to it?

# %%
for guests in (1, 32):
    energy = kl.energy_per_token(llama, h100, context=2048, batch=guests, chips=4)
    print(f"{guests:2} at a time: {energy.output:5.1f} J written, {energy.input:.2f} J read")

# %% [markdown]
# For one guest a million written tokens take 8 kWh, if each chip draws its rated power all the time. (A chef who
# waits draws less.) With 32 guests it is a twenty-seventh of that. The law is the same: joules and dollars are two
# currencies of the same seconds.
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
# Cheap, for one guest alone, with a model 510 times smaller than the one above. A small sack is the other way to a
# cheap token.
#
# ### A small kitchen
# Llama-3.1-8B in [bf16] serves one guest on an L40S that costs \$1.5484 an hour. The waiter carries 864 GB/s,
# the sack has 15.01 GB to carry; leave out the notes. What do a million written tokens cost, in **dollars**?

# %%
dollars = 15.01 / 864 / 3600 * 1.5484 * 1e6  # solution
check("small-kitchen", dollars)

# %%
solution("small-kitchen")
