# %% [markdown]
# # 2. Prefill vs decode
#
# **The one idea:** reading your prompt and writing the reply are two different workloads on the same
# machine. First a flood, in which the [chef] sets the pace. Then a drip, in which the [waiter] does.
#
# **You will be able to**
# - tell [prefill] from [decode], and say which of them a wait is made of;
# - estimate [TTFT] and [TPOT] for a model and a chip, and explain why there are two numbers;
# - say what the [notepad] saves, what it weighs, and why it is worth it;
# - predict how fast a real language model runs on **your** machine, and hold it against the clock.
#
# **You need** [The ratio](01_ratio.ipynb). **Time:** 40 minutes: 25 to read and play, 15 for the
# exercises. *More* takes 15 on top.

# %% [markdown]
# ## The kitchen in this notebook
#
# | in the kitchen | in the machine |
# |---|---|
# | a [guest] reads out a whole order | [prefill]: all [tokens][token] of the [prompt] go through in one [pass] |
# | the dish is served bite by bite | [decode]: one token of the reply for each pass |
# | the [notepad] | the [KV cache]: [keys and values][key and value] of all tokens so far |
# | the wait for the first bite | [TTFT], time to first token |
# | the pace of the bites | [TPOT], time per output token after the first |
# | a second kitchen that shares the [sack] | [tensor parallel] chips |

# %%
import kitchenlib as kl
from kitchenlib import llm, serving
from kitchenlib.exercises.prefill_vs_decode import check, look_back, predict, progress, solution
from kitchenlib.measured import measurements
from kitchenlib.player import FloodAndDrip
from kitchenlib.plots import prefill_vs_decode as plots

h100 = kl.chip("H100 SXM")
llama = kl.model("Llama-2-70B")
long = kl.model("Llama-3.1-70B")

# %% [markdown]
# ## Predict
#
# Two guesses. Two [H100]s share the sack, so that it fits. That is the kitchen of this notebook.

# %%
predict("read-or-write")

# %%
predict("one-for-one")

# %% [markdown]
# ## Watch it happen
#
# Left, the prompt: tokens across, layers up. Right, the reply. The stack is the sack of weights;
# each time it sets out, all of it moves. Press play, then step through the events. Watch what each
# side keeps busy.

# %%
FloodAndDrip()

# %% [markdown]
# The whole prompt goes up like a wall of light, and the sack sets out once. Then the sack sets out
# again and again, for one token each time. Try a reply of one hundred tokens. Try eight chips. Try 32
# guests: what happens to the drip?

# %%
look_back("read-or-write")

# %%
look_back("one-for-one")

# %% [markdown]
# And 32 guests? On two chips the film asks you to imagine a bigger pantry. Each drip takes 24 ms instead of
# 21 ms, and now yields 32 tokens. But the flood is 32 times as long, 4.9 s: one sack serves all of them, and
# each prompt has to be read for itself. Eight chips make both shorter.

# %% [markdown]
# ## The flood
#
# Take a long prompt of 20,000 tokens. Llama-2-70B cannot (it was made for 4,096 at most), so its
# successor Llama-3.1-70B reads it, on one ideal chip with a bigger [warehouse]. Where does the work go?

# %%
flood = kl.prefill(long, prompt=20_000)
flood

# %% [markdown]
# Every [matrix] inside the layers does 20,000 [FLOP] per byte, where the [ridge point] asks for 295. (The
# [LM head] does 1: only the last token needs it, to choose the first token of the reply.) The flood is
# [compute-bound]: bytes hardly matter, and the time is FLOPs divided by the [peak].

# %%
print("time", kl.human(flood.time(h100), "s"))
print(f"chef busy {flood.utilization(h100):.0%}")

# %% [markdown]
# One line of the table grows faster than the rest. In [attention] each token looks at every earlier
# one: twice the prompt, four times the pairs. Where does it overtake the other work?

# %%
plots.flood_by_length(long, h100)

# %% [markdown]
# At 20,000 tokens attention is a sixth of the time. At 104,000 it overtakes all the rest.
#
# And the chef is never busy all the time. The best [matrix product] measured on an H100 reaches 80% of
# the peak (the [matmul ceiling]); on an MI300X it is 51%. A whole model reaches less than that: at 40% of
# the peak the 20,000 tokens take 8.2 s. So 3.3 s is a bound, not a promise.

# %% [markdown]
# ## Writing without a notepad
#
# Now the reply. Each new token looks back at all earlier ones. The plain way is to send everything
# through the model again, for each token. It works. What does it waste? A row in the picture is one token
# on its way through all layers; K and V are its [key and value]. Count the rows that are computed a second
# time.

# %%
plots.without_notepad()

# %% [markdown]
# A token looks only at those before it, never at later ones. So nothing that comes later can change its
# key and value: what it leaves for others to look at stays the same. Each token writes them into the
# notepad once, in every layer. From then on a pass computes one new row only, and reads the notepad.
#
# Let us do both on a real language model. SmolLM2-135M has 135 million weights, and came with the
# installation. It runs on your processor, in a few hundred lines of NumPy.

# %%
smol = llm.load()
smol

# %% tags=["nbval-ignore-output"]
ids = smol.chat("Tell me how bread is made.")
kept = smol.timed(ids, tokens=14)
again = smol.timed(ids, tokens=14, notepad=False)

plots.notepad_measured(kept.steps, again.steps)

# %% [markdown]
# Without a notepad the tokens take longer and longer. With it, they all take about the same time. And what
# is written does not change by a single letter:

# %%
kept.text == again.text

# %% [markdown]
# ## The drip
#
# With a notepad, one pass for one token carries the whole sack and the notepad, and cuts once with
# each [crumb]. On one ideal H100, again with a bigger warehouse:

# %%
step = kl.decode_step(llama, context=2048)

print("one token    ", kl.human(step.time(h100), "s"))
print("carried      ", kl.human(step.bytes, "B"))
print(f"chef busy     {step.utilization(h100):.2%}")

# %% [markdown]
# The notepad itself has to be carried too, and it grows. At first it is nothing beside the sack. How
# long must a conversation be before you feel it?

# %%
plots.notes_grow(long, h100)

# %% [markdown]
# At 4,096 tokens it costs 1%, at 32,768 nearly 8%, at 131,072 almost a third.
#
# One token leaves 328 kB in the notepad, in keys and values of all 80 layers. It is a modest price
# for not reading everything again. But the notepad belongs to one guest, and it has to lie somewhere.

# %% [markdown]
# ## Two kitchens share the sack
#
# The sack of 138 GB does not fit into one H100, whose warehouse holds 86 GB (sold as 80). Nearly all of it
# is carried for each token, 137 GB: of the [embedding] table only one row is needed. `fits` counts the
# weights and the notepads, and leaves a tenth of the memory free for everything else:

# %%
for chips in (1, 2, 4):
    fits = serving.fits(llama, h100, context=4096, chips=chips)
    guests = serving.max_batch(llama, h100, context=4096, chips=chips)
    print(f"{chips} chips: fits {fits!s:5}  guests with 4,096 tokens: {guests}")

# %% [markdown]
# Two chips work as one kitchen: each keeps half of every matrix, and after each half layer they
# exchange what they have. This is called [tensor parallel]. Each waiter carries half a sack, so TPOT
# halves, or nearly: exchanging takes time too. For one token that is a few thousand bytes, and the law
# hardly sees it. Real chips also wait for each exchange to start, twice in every layer. *More* shows what
# that costs.

# %% [markdown]
# ## Two numbers, because one machine does two jobs
#
# - **TTFT**, the time to the first token: the flood. Prefill ends with the first token of the reply.
# - **TPOT**, the time per output token *after the first*: the drip.
#
# A request takes TTFT + (tokens - 1) × TPOT. Double the prompt, then double the reply. Which number
# moves?

# %%
for prompt, reply in ((2000, 100), (4000, 100), (2000, 200)):
    first = serving.ttft(llama, h100, prompt, chips=2)
    each = serving.tpot(llama, h100, prompt, reply, chips=2)
    total = serving.request_time(llama, h100, prompt, reply, chips=2)
    print(
        f"prompt {prompt}, reply {reply}: TTFT {first * 1e3:3.0f} ms, "
        f"TPOT {each * 1e3:.1f} ms, in all {total:.1f} s"
    )

# %% [markdown]
# A longer prompt moves TTFT alone. A longer reply moves neither: it adds more steps of the same length.
#
# ### On a real machine
#
# Someone else's machine, another model. The lines are the law. Which of the two numbers climbs with the
# prompt, and which one stays closer to its line?

# %%
plots.ttft_and_tpot_measured()

# %% [markdown]
# TTFT climbs with the prompt, and TPOT hardly moves. The waiter's line nearly holds. The chef's is missed
# by far: a [peak] is harder to reach than a [bandwidth], and this chip's peak is derived, not published.

# %% [markdown]
# ## Now on your machine
#
# The law needs two numbers of a chip. Let us measure yours: how many bytes per second NumPy streams
# through a large matrix-vector product, and how many [FLOP/s] it reaches in a large matrix product.

# %% tags=["nbval-ignore-output"]
speed = llm.measure(smol, tries=3)
mine = kl.Chip("my machine", bandwidth=speed.stream, peaks={"fp32": speed.multiply})

print("streams   ", kl.human(mine.bandwidth, "B/s"))
print("calculates", kl.human(mine.peak("fp32"), "FLOP/s"))
print(f"ridge      {mine.ridge('fp32'):.0f} FLOP/byte")

# %% [markdown]
# From these two numbers alone, the law says how fast SmolLM2 must be here: reading 512 tokens, then
# writing one by one. Its file holds about 4 bits for each weight; `load` unpacks them to 32 bit, four bytes
# each. Divide first yourself: 135 million weights of four bytes, by your bytes per second. What does one
# token take?

# %% tags=["nbval-ignore-output"]
shape = kl.model("SmolLM2-135M")
formats = {"weights": "fp32", "kv": "fp32"}

print("TTFT at least", kl.human(serving.ttft(shape, mine, prompt=512, **formats), "s"))
print("TPOT at least", kl.human(serving.tpot(shape, mine, 512, reply=8, **formats), "s"))

# %% [markdown]
# And now the real thing. See the wait, then the pace:

# %% tags=["nbval-ignore-output"]
for piece in smol.stream("Why do restaurants have waiters?", tokens=40):
    print(piece, end="", flush=True)

# %% [markdown]
# Prompts of several lengths, each read and answered, against the law with your two numbers. How far
# above the law does your machine stay, and is it the same for both?

# %% tags=["nbval-ignore-output"]
rows = []
for prompt in (32, 128, 512):
    timed = smol.timed([*range(1000, 1000 + prompt)], tokens=8)
    first = serving.ttft(shape, mine, prompt, **formats)
    each = serving.tpot(shape, mine, prompt, reply=8, **formats)
    rows.append(plots.Timing("TTFT", prompt, first, timed.ttft))
    rows.append(plots.Timing("TPOT", prompt, each, timed.tpot))

plots.predicted_and_measured(rows)

# %% [markdown]
# TPOT usually stays near the law: one large stream, as in the measurement. TTFT is further above it:
# between the large products lie many small steps, which multiply nothing and take time.

# %% [markdown]
# ## The trap to avoid
#
# *One number called speed.* Suppose you send a long document and get a short answer, and the test
# divides all tokens by all seconds:

# %%
total = serving.request_time(llama, h100, prompt=4000, reply=50, chips=2)
each = serving.tpot(llama, h100, prompt=4000, reply=50, chips=2)

print(f"reported       {(4000 + 50) / total:,.0f} tokens per second")
print(f"what you see   {1 / each:,.0f} tokens per second")

# %% [markdown]
# Both are true. But of the 4,050 tokens that were counted, 4,000 were read, while three quarters of the
# seconds went into writing 50. The first number is the pace of neither. When a benchmark quotes one
# number, ask which tokens it counted, and which seconds.

# %% [markdown]
# ## Where the kitchen leaks
#
# 1. **Nobody waits in line here.** TTFT is the flood alone. In a real service you also wait for other
#    guests' floods, for the network, and for the words to be taken apart into tokens.
# 2. **Real floods are slower.** Even the best single product stops at 80% of the peak, and a whole
#    model has many smaller ones.
# 3. **Real drips are slower.** Each step starts hundreds of small jobs, and each start takes a moment
#    that the law does not know. On your machine you have just seen by how much.
# 4. **Long prompts are often read in pieces,** mixed with other guests' drips, so that nobody's reply
#    stops. Then flood and drip share a pass.
# 5. **Several tokens in one step.** A trick of notebook 4 lets one trip of the sack yield more than one
#    token.
# 6. **A short prompt is no flood.** Ten tokens and a hundred take the same 21 ms on our two chips: one trip
#    of the sack. Only from about 295 tokens on, the ridge, does the chef set the pace.

# %% [markdown]
# ## Exercises
#
# ### The flood on two chips
# How many **ms** do two ideal H100s take to read a prompt of 4,096 tokens with Llama-2-70B?

# %%
milliseconds = kl.prefill(llama, prompt=4096, chips=2).time(h100) * 1e3  # solution
check("read", milliseconds)

# %%
solution("read")

# %% [markdown]
# ### The pace of a reply
# A request took 2.48 s in all. Its first token came after 0.5 s, and the reply has 100 tokens. What is
# its TPOT, in **ms**?

# %%
milliseconds = (2.48 - 0.5) / (100 - 1) * 1e3  # solution
check("tpot", milliseconds)

# %%
solution("tpot")

# %% [markdown]
# ### The weight of a notepad
# How many **GB** is the notepad of one guest with 16,384 tokens, for Llama-3.1-70B in [bf16]? It has 80
# layers, 8 [KV heads][KV head], and 128 numbers for each of them.

# %%
gigabytes = long.kv_bytes(16_384) / 1e9  # solution
check("notepad", gigabytes)

# %%
solution("notepad")

# %% [markdown]
# ### An order that begins alike
# Of a prompt of 20,000 tokens the first 16,000 are in the notepad already, kept from an earlier order.
# Which share of the attention work is left, in **%**?

# %%
whole = kl.prefill(long, prompt=20_000).parts["attention"].flops
share = (
    100 * kl.prefill(long, prompt=20_000, cached=16_000).parts["attention"].flops / whole
)  # solution
check("cached", share)

# %%
solution("cached")

# %% [markdown]
# ### From order to last bite
# Write the seconds from the order to the last token of the reply.


# %%
def request_seconds(ttft, tpot, reply):
    return ttft + (reply - 1) * tpot  # solution


check("request", request_seconds)

# %%
solution("request")

# %% [markdown]
# ### What does the number tell you?
# A test sends 8,000 tokens, gets 50 back, and reports *10,000 tokens per second*: all tokens, divided by
# all seconds. How fast did the reply come? **a)** 10,000 tokens a second, **b)** half as many, **c)** the
# number does not say, **d)** it must be wrong.

# %%
choice = "c"  # solution
check("judge", choice)

# %%
solution("judge")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - Prefill sends all tokens of the prompt through in one pass: from a few hundred tokens on it is
#   compute-bound, a flood.
# - Decode sends one token through for each pass, and carries the whole sack for it: [memory-bound], a
#   drip.
# - TTFT measures the flood and TPOT the drip. No single number can stand for both.
# - The notepad trades memory for work: no token goes through the model twice, and it grows with every one.
#
# **What it sets up:** during the drip a chef worth a fortune stands idle for more than 99% of the time,
# and somebody pays for it. What that does to the price of a token is the next notebook.

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### Two chips, two winners
#
# Each pair was measured with the same model in the same table. Which chip would you buy for reading,
# and which for writing?

# %%
plots.chip_duel()

# %% [markdown]
# In the first two pairs reading and writing have different winners. In the other three one chip wins both,
# but not by as much: a chef more than twice as fast brings few more tokens. Buy FLOP/s for reading,
# bandwidth for writing.

# %% [markdown]
# ### Where your work lives
#
# On the solid line reading and writing take equally long for one guest, on the dashed one for 32
# guests together. Above it the drip takes more of your time, below it the flood. Why does company move
# the line?

# %%
plots.workload_plane()

# %% [markdown]
# Because guests share the trips of the sack, but not the reading. With 32 of them a step of the drip takes
# little longer, while the flood is 32 times as long. So more orders are mostly flood. For one guest the
# line is level below about 295 tokens: there reading, too, is one trip of the sack.

# %% [markdown]
# ### More chips, less gain
#
# The law counts the bytes that the chips exchange, and for one token they are few: eight chips should be
# four times as fast as two. Measured on A100s, Llama-2-70B, one guest. What share of the law is left?

# %%
for row in measurements(source="gpt-fast", model="Llama-2-70B", weights="bf16"):
    law = 1 / kl.decode_step(llama, row.context, chips=row.chips).time(kl.chip(row.chip))
    print(
        f"{row.chips} chips: law {law:3.0f}, measured {row.value:4.1f} tokens/s, {row.value / law:.0%}"
    )

# %% [markdown]
# Four times the chips, 2.9 times the tokens. Each exchange has to start and be waited for, 160 times for
# each token, and that does not shrink with a chip's share.
