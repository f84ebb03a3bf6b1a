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
# ## The flood
#
# Take a long prompt of 20,000 tokens. Llama-2-70B cannot (it was made for 4,096 at most), so its
# successor Llama-3.1-70B reads it, on one ideal chip. Where does the work go?

# %%
flood = kl.prefill(long, prompt=20_000)
flood

# %% [markdown]
# Every [matrix] does 20,000 [FLOP] per byte, where the [ridge point] asks for 295. The flood is
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
# And the chef is never busy all the time. The best [matrix product] measured on an H100 reaches 80% of
# the peak (the [matmul ceiling]), and a whole model less than that. So 3.3 s is a bound, not a promise.

# %% [markdown]
# ## Writing without a notepad
#
# Now the reply. Each new token looks back at all earlier ones. The plain way is to send everything
# through the model again, for each token. It works. What does it waste?

# %%
plots.without_notepad()

# %% [markdown]
# Earlier tokens never change: what they leave for others to look at stays the same. So each token
# writes its [key and value] rows into the notepad once, in every layer. From then on a pass needs one
# new row only, and reads the notepad.
#
# Let us do both on a real language model. SmolLM2-135M has 135 million weights, and came with the
# installation. It runs on your processor, in a few hundred lines of NumPy.

# %%
smol = llm.load()
smol

# %% tags=["nbval-ignore-output"]
ids = smol.chat("Tell me how bread is made.")
kept = smol.timed(ids, tokens=24)
again = smol.timed(ids, tokens=24, notepad=False)

plots.notepad_measured(kept.steps, again.steps)

# %% [markdown]
# Without a notepad each token takes longer than the one before. With it, they all take about the same
# time. And what is written does not change by a single letter:

# %%
kept.text == again.text

# %% [markdown]
# ## The drip
#
# With a notepad, one pass for one token carries the whole sack and the notepad, and cuts once with
# each [crumb]. On one ideal H100:

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
# One token leaves 328 kB in the notepad, in keys and values of all 80 layers. It is a modest price
# for not reading everything again. But the notepad belongs to one guest, and it has to lie somewhere.

# %% [markdown]
# ## Two kitchens share the sack
#
# The sack of 138 GB does not fit into one H100. `fits` counts the weights, the notepads, and leaves a
# tenth of the memory free for everything else:

# %%
for chips in (1, 2, 4):
    fits = serving.fits(llama, h100, context=4096, chips=chips)
    guests = serving.max_batch(llama, h100, context=4096, chips=chips)
    print(f"{chips} chips: fits {fits!s:5}  guests with 4,096 tokens: {guests}")

# %% [markdown]
# Two chips work as one kitchen: each keeps half of every matrix, and after each half layer they
# exchange what they have. This is called [tensor parallel]. Each waiter carries half a sack, so the
# pace nearly doubles. It is *nearly*, because exchanging takes time too.

# %% [markdown]
# ## Two numbers, because there are two machines
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
# ## Now on your machine
#
# The law needs two numbers of a chip. Let us measure yours: how many bytes per second NumPy streams
# through a large matrix-vector product, and how many [FLOP/s] it reaches in a large matrix product.

# %% tags=["nbval-ignore-output"]
speed = llm.measure(smol, tries=4)
mine = kl.Chip("my machine", bandwidth=speed.stream, peaks={"fp32": speed.multiply})

print("streams   ", kl.human(mine.bandwidth, "B/s"))
print("calculates", kl.human(mine.peak("fp32"), "FLOP/s"))
print(f"ridge      {mine.ridge('fp32'):.0f} FLOP/byte")

# %% [markdown]
# From these two numbers alone, the law says how fast SmolLM2 must be here: reading 512 tokens, then
# writing one by one. Its weights are in 32 bit, four bytes each.

# %% tags=["nbval-ignore-output"]
shape = kl.model("SmolLM2-135M")
formats = {"weights": "fp32", "kv": "fp32"}

print("TTFT at least", kl.human(serving.ttft(shape, mine, prompt=512, **formats), "s"))
print("TPOT at least", kl.human(serving.tpot(shape, mine, 512, reply=32, **formats), "s"))

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
# ## The trap to avoid
#
# *One number called speed.* Suppose you send a long document and get a short answer, and the test
# divides all tokens by all seconds:

# %%
total = serving.request_time(llama, h100, prompt=4000, reply=50, chips=2)
each = serving.tpot(llama, h100, prompt=4000, reply=50, chips=2)

print(f"reported       {(4000 + 50) / total:,.0f} tokens per second")
print(f"what you read  {1 / each:,.0f} tokens per second")

# %% [markdown]
# Both are true, and the first one says nothing about how the reply feels. When a benchmark quotes one
# number, ask which machine it measured.

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
# How many **GB** is the notepad of one guest with 32,768 tokens, for Llama-3.1-70B in [bf16]? It has 80
# layers, 8 [KV heads][KV head], and 128 numbers for each of them.

# %%
gigabytes = long.kv_bytes(32_768) / 1e9  # solution
check("notepad", gigabytes)

# %%
solution("notepad")

# %% [markdown]
# ### An order that begins alike
# Of a prompt of 20,000 tokens the first 16,000 are in the cache already. Which share of the attention
# work is left, in **%**?

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
# ### Which machine was measured?
# A test sends 8,000 tokens, gets 50 back, and reports *10,000 tokens per second*. **a)** nearly only
# prefill, **b)** nearly only decode, **c)** both in equal parts, **d)** it must be wrong.

# %%
choice = "a"  # solution
check("judge", choice)

# %%
solution("judge")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - Prefill sends all tokens of the prompt through in one pass: compute-bound, a flood.
# - Decode sends one token through for each pass, and carries the whole sack for it: [memory-bound], a
#   drip.
# - TTFT measures the flood and TPOT the drip. No single number can stand for both.
# - The notepad trades memory for work: nothing is read twice, and it grows with every token.
#
# **What it sets up:** during the drip a chef worth a fortune stands idle for more than 99% of the time,
# and somebody pays for it. What that does to the price of a token is the next notebook.

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### The two numbers in published measurements
#
# Other people's machines show the same picture. The lines are the law. How many times longer does the
# wait become when the prompt is 16 times as long, and how many times the pace?

# %%
plots.ttft_and_tpot_measured()

# %% [markdown]
# ### Two chips, two winners
#
# Each pair was measured with the same model in the same table. Which chip would you buy for reading,
# and which for writing?

# %%
plots.chip_duel()

# %% [markdown]
# ### Where your work lives
#
# On the solid line reading and writing take equally long for one guest, on the dashed one for 32
# guests together. Above it the drip takes more of your time, below it the flood. Why does company move
# the line?

# %%
plots.workload_plane()

# %% [markdown]
# ### More chips, less gain
#
# Each further chip carries a smaller share, but the exchange between them does not shrink.

# %%
for chips in (1, 2, 4, 8):
    step = kl.decode_step(llama, context=2048, chips=chips)
    exchange = step.times(h100)["all_reduce"] / step.time(h100) if chips > 1 else 0
    print(f"{chips} chips: {kl.human(step.time(h100), 's')} a token, {exchange:.1%} of it exchange")
