# %% [markdown]
# # 1. The ratio
#
# **The one idea:** a chip calculates far faster than it can fetch. Whether you get its speed
# depends on one ratio: how much it calculates with each byte that it fetches.
#
# **You will be able to**
# - say what one [token] costs in calculation and in carrying, layer by layer;
# - read a chip's data sheet and work out its ridge, the number that says who waits;
# - place any workload on a [roofline] and say who is waiting for whom;
# - tell where this simple law holds in nature, and where it leaks.
#
# **You need** [the welcome notebook](00_welcome.ipynb), a little Python, and no [GPU].
# **Time:** 40 minutes: 25 to read and play, 15 for the exercises. *More* takes 10 on top.

# %% [markdown]
# ## The kitchen in this notebook
#
# | in the kitchen | in the machine | unit |
# |---|---|---|
# | [sack] of ingredients | the model's [weights][weight], in memory | 1 kg = 1 GB |
# | [crumb] | one [byte] | 1 kg = a billion crumbs |
# | [waiter] with a cart | the memory bus, with its [bandwidth] | bytes per second |
# | [chef] with a knife | the compute cores, with their [peak] | [FLOP] per second |
# | one [cut] | one FLOP, a single multiplication or addition | |
# | a [guest] | one conversation; guests served together are a [batch] | |
# | a guest's [notepad] | the [KV cache]: what was said so far | 1 kg = 1 GB |
# | one [pass] | the whole sack past the chef once, for every token that is ready | |
#
# Run each cell with Shift+Enter, from top to bottom. Start with this one.

# %%
import math

import numpy as np

import kitchenlib as kl
from kitchenlib.exercises.ratio import check, look_back, predict, progress, solution
from kitchenlib.plots import ratio as plots
from kitchenlib.widgets import RooflineExplorer

h100 = kl.chip("H100 SXM")
llama = kl.model("Llama-2-70B")

# %%
plots.kitchen(h100, llama)

# %% [markdown]
# Our kitchen is one [H100], cooking with Llama-2-70B, a language model of 69 billion weights.
# One honest word at once: this sack **does not fit** into one H100. It weighs 138 kg, and the
# [warehouse] holds 86 kg (sold as 80 GB, because memory sizes count in [GiB][byte]). Imagine one H100
# with a bigger warehouse; the next notebook puts it right.

# %% [markdown]
# ## Predict
#
# Two guesses before you calculate. A wrong guess costs nothing, and makes the answer stick.

# %%
predict("cuts-per-crumb")

# %%
predict("free-tokens")

# %% [markdown]
# ## What is in the sack: one layer is seven matrices
#
# A model never sees words. It sees [tokens][token], pieces of words, and turns each into a row
# of 8,192 numbers. That row then walks through 80 equal [layers][layer].
#
# A layer is little more than seven tables of numbers. Such a table is a [matrix]. Four belong to
# [attention], which looks back at earlier tokens: Q ([query]: what this token looks for), K and V
# ([key and value]: what it leaves in the notepad for later tokens) and O (output). Three belong to
# the [feed-forward] part, which works on each token alone: gate, up and down. Which part is heavier,
# and by how much?

# %%
plots.one_layer(llama)

# %% [markdown]
# The feed-forward part is four fifths of the layer. (The looking back itself uses the notepad, not
# these tables. It joins us at the roofline.)
#
# A [matrix product] turns one row of numbers into another. Each new number is a sum: every number of
# the row times one weight. Here a row of 2 meets a table of 2 × 3. Work out the first result by
# hand before you run the cell.

# %%
row = np.array([1, 2])
table = np.array([[3, 4, 5], [6, 7, 8]])

row @ table

# %% [markdown]
# 1 × 3 + 2 × 6 = 15. **Every number of the table was used once**: multiplied, then added to a
# running sum. Six weights, six multiply-adds. A multiply-add counts as two FLOPs.
#
# Now the real tables. Add up the seven, then all layers:

# %%
matrices = kl.layer_matrices(llama)
one_layer = sum(inputs * outputs for _, inputs, outputs in matrices)

print(f"one layer   {one_layer:>14,} weights")
print(f"all layers  {one_layer * llama.layers:>14,} weights")
print(f"the model   {llama.params:>14,} weights")

# %% [markdown]
# The layers are nearly everything. What is missing is the [embedding] table at the entrance, the
# table at the exit (the [LM head]) and, tiny beside them, some numbers between the layers.
#
# In the usual format, [bf16], each weight takes two bytes. That is the sack:

# %%
kl.human(llama.weight_bytes("bf16"), "B")

# %% [markdown]
# ## Mind the crumb
#
# Our story weighs data. The text it grew from says: *the waiter carries 3.35 terabytes (= grams)
# per second*. Is a byte a gram, then? Our sack of 138 GB weighs 138 kg, so a kilogram is a gigabyte,
# and the waiter carries 3,350 kg a second. But if a gram were one byte ... work out what the sack
# would weigh. Replace the `...` and run the cell.

# %%
tonnes = llama.weight_bytes("bf16") / 1_000 / 1_000  # solution
check("crumb", tonnes)

# %%
solution("crumb")

# %% [markdown]
# So we say **crumb** for byte, and one kilogram is a billion crumbs. The law below counts cuts
# per *crumb*, that is FLOP per *byte*. It does not care what a crumb weighs.

# %% [markdown]
# ## The Kitchen Law
#
# Two speeds from the data sheet decide who waits.

# %%
print("the chef cuts     ", kl.human(h100.peak("bf16"), "FLOP/s", 4))
print("the waiter carries", kl.human(h100.bandwidth, "B/s"))

# %% [markdown]
# Both work at the same time. While one byte arrives, the chef could do 989.4 ÷ 3.35 cuts (the
# trillions cancel). This number is the chip's [ridge point]:

# %%
round(h100.peak("bf16") / h100.bandwidth, 1)

# %%
look_back("cuts-per-crumb")

# %% [markdown]
# > **The Kitchen Law.** Do at least 295 cuts with every crumb, or the chef stands with the knife
# > drawn and waits for the waiter.
#
# The cuts that a job asks for with each crumb are its [arithmetic intensity], in FLOP per byte.
# Below the ridge the job is [memory-bound]: the waiter sets the pace. Above it the job is
# [compute-bound]: the chef does.
#
# The story says 295 operations per *gram*. With a kilogram to the gigabyte a gram is a million
# crumbs, and it would be 295 million. Per crumb it is right.

# %% [markdown]
# ## One token alone
#
# Send one token through one layer. Who takes longer? (The third of the `sides` is the links to
# other chips. We have none.)

# %%
alone = kl.layer_work(llama, tokens=1)
chef, waiter, _ = alone.sides(h100)

print("chef  ", kl.human(chef, "s"))
print("waiter", kl.human(waiter, "s"))
print("cuts per crumb", alone.intensity)

# %% [markdown]
# The waiter needs 295 times as long as the chef. Two FLOPs for each weight of two bytes: that is
# **one cut per crumb**, where the ridge asks for 295. The share of the time in which the chef
# cuts is called [utilization]:

# %%
f"{chef / waiter:.2%}"

# %% [markdown]
# ## The same sack for many
#
# Now let 32 tokens go through the layer together: one each of 32 guests, or 32 of one [prompt]. A
# prompt is known in full, so its tokens can go together. A reply is not: each token must exist
# before the next can start. So a guest brings a whole prompt, or one token of a reply.
#
# The matrix is carried **once**, and every row of numbers is cut against it. Compare the two halves
# of the picture: what grows, and what does not?

# %%
plots.vector_or_matrix(llama, guests=32)

# %% [markdown]
# One row (a *[vector]*) times a matrix becomes many rows times the same matrix. Bytes stay, FLOPs
# multiply. So in 16 bit the intensity *is* the number of tokens that share the pass. Between which
# two lines does the ridge lie?

# %%
for tokens in (1, 32, 256, 512, 4096):
    work = kl.layer_work(llama, tokens)
    print(f"{tokens:>5} tokens: {work.intensity:>6.0f} FLOP/byte, {work.bound(h100)}-bound")

# %% [markdown]
# ## The roofline, line by line
#
# One picture holds the whole law. Across: the intensity of a job. Up: the [FLOP/s] it can reach. On
# both axes each line is ten times the one before.
#
# First the waiter alone. He brings 3.35 trillion crumbs a second. At one cut each, that is 3.35
# trillion cuts a second; at ten cuts each, ten times as many.

# %%
plots.roofline(h100, step=1)

# %% [markdown]
# Then the chef. No job runs faster than the peak, however little it fetches.

# %%
plots.roofline(h100, step=2)

# %% [markdown]
# Slope and ceiling meet at the ridge point. Left of it the chef waits; right of it the waiter
# does.

# %%
plots.roofline(h100, step=3)

# %% [markdown]
# Last, the jobs. [Prefill] reads a prompt, all its tokens in one pass. [Decode] writes the reply,
# one token for each guest and pass. Find the two ends of the picture before you read on.

# %%
plots.roofline(h100, step=4, model=llama)

# %% [markdown]
# Reading a long prompt sits under the ceiling. Writing for one guest sits at the foot of the
# slope, at one FLOP per byte. Same model, same chip.
#
# The points lie a little off the number of tokens. A pass also reads each guest's notepad: more
# bytes, so guests lie left of their number. Looking back through a long prompt is extra cutting: so
# the prompt of 4,096 lies right of it.

# %% [markdown]
# ## Play
#
# Move one control at a time, and say before you do where the point will go. *Phase* is reading the
# prompt or writing the reply; *notes* are the tokens in each notepad.
# - How many guests does it take to reach the ridge with one token of notes? And with 4,096?
# - Take the A100 [SXM] 80GB, then the L40S, whose peak is higher. Which writes sooner for one guest?

# %%
RooflineExplorer()

# %% [markdown]
# With one token of notes the ridge comes between 256 and 512 guests. With 4,096 it never comes. The
# A100 writes sooner: its waiter is faster. And dots can fall below the roof, because a pass has
# parts: the matrices keep the chef busy, the notepads the waiter, one after the other. (*Time and
# [floor]*, under *More*, takes such a pass apart.)

# %% [markdown]
# ## Every chip has its ridge
#
# The ridge belongs to the chip and its number format, not to the model. Here is the catalogue. Rows
# with a half-filled or hollow mark could not be fully verified; their numbers may be off.

# %%
plots.ridges()

# %% [markdown]
# A high ridge is a strong chef behind a slow waiter. It is no praise and no blame, but it says
# how many tokens must share a pass before you get what you paid for. A laptop is content with ten
# to fifty.

# %% [markdown]
# ## The law in nature
#
# So far we only calculated. Does a real chip obey? The Vidur project timed the matrix products of
# one layer on a real H100, with 1 to 4,096 tokens per pass. Left is the layer of our 70B model,
# right that of its small sister, Llama-2-7B. Above: the time. Below: the time divided by the law's.
# How long does it stay flat, and how far above the law do the dots lie?

# %%
plots.law_against_layer()

# %%
look_back("free-tokens")

# %% [markdown]
# The shape is the law's. Up to 128 tokens cost nearly the same as one: the waiter walks once,
# whoever is waiting. Then the time rises with the number of tokens, as the chef becomes the
# slower one. The dots lie above the line because the law is a **bound**: it says what no kitchen can
# beat as long as the whole sack comes from the warehouse. Nature adds to it everywhere, and most in
# two places: at the corner, and under the ceiling. *Where the kitchen leaks* looks at both.

# %% [markdown]
# ## The trap to avoid
#
# *A chip with more FLOP/s answers faster.* Take two chips of two generations. The newer has far
# more peak; both have nearly the same bandwidth. Let both write for one guest:

# %%
old, new = kl.chip("A100 SXM 80GB"), kl.chip("H100 PCIe")
step = kl.decode_step(llama, context=512)

print(f"peak       x {new.peak() / old.peak():.2f}")
print(f"bandwidth  x {new.bandwidth / old.bandwidth:.2f}")
print(f"speed      x {step.time(old) / step.time(new):.2f}")

# %% [markdown]
# By the law, not faster at all: a memory-bound job does not notice the better chef. Before you compare two
# chips, ask on which side of the ridge your job lies. (The row of this H100 PCIe is
# only partly verified: its sources differ a little on the bandwidth.)

# %% [markdown]
# ## Where the kitchen leaks
#
# A simple law is a bound. Here is where this one stops being true:
#
# 1. **The rounded corner.** The law turns sharply at the ridge. The measured layer of the 70B
#    model takes 1.4 times the law's time at 256 tokens; the smaller layer of the 7B model 2.2
#    times. The law lets carrying and cutting overlap perfectly. Near the corner both take nearly as
#    long, so every hitch shows. (The 7B layer needs even more than both one after the other: there
#    the law misses something else.)
# 2. **The [matmul ceiling].** Nobody reaches the peak. The best matrix product measured on an H100
#    got to 80% of it, which alone makes 1.25 times the law's time. Past the corner the 70B layer
#    needs 1.3 to 1.6 times: most products fall short of the best one.
# 3. **The waiter stumbles too.** On the flat part the measured layer needs 1.1 to 1.2 times the
#    law's time. Either the data-sheet bandwidth is not reached, or each product takes a moment to
#    start: this measurement cannot tell which.
# 4. **What is not counted.** The rows of numbers are carried too: next to nothing for one token, 6%
#    of the weights' bytes at 295 tokens, 77% at 4,096 (where the chef sets the pace anyway). Small
#    steps between the matrices add 6 to 9% to the measured layer. And caches, the [chef's table], leak
#    the other way: what fits there need not be carried again.
# 5. **The warehouse.** The law never asks whether the sack fits. Ours does not.

# %% [markdown]
# ## Exercises
#
# Replace each `...` with an expression, not with a number from a calculator: the library has
# all you need. Every answer gets a reply, and a wrong one gets a hint.

# %% [markdown]
# ### The ridge of another chip
# How many FLOP per byte does an A100 SXM with 80 GB ask for, in bf16?

# %%
a100 = kl.chip("A100 SXM 80GB")
ridge = a100.peak("bf16") / a100.bandwidth  # solution
check("ridge", ridge)

# %%
solution("ridge")

# %% [markdown]
# ### One token, all layers
# How many **milliseconds** does the waiter need to carry all the weights that one token needs, in
# bf16 on our H100? `llama.streamed_weight_bytes("bf16")` gives the bytes.

# %%
milliseconds = llama.streamed_weight_bytes("bf16") / h100.bandwidth * 1e3  # solution
check("one-token", milliseconds)

# %%
solution("one-token")

# %% [markdown]
# ### A law of your own
# Write the intensity, in FLOP per byte, of a matrix product in which `tokens` tokens share
# weights of `bits` bits each. Your function is tried on many inputs.


# %%
def intensity(tokens, bits):
    return 2 * tokens / (bits / 8)  # solution


check("intensity", intensity)

# %%
solution("intensity")

# %% [markdown]
# ### What would you buy?
# You serve one guest at a time, and the reply should come faster. **a)** a chip with twice the
# peak, **b)** a chip with twice the bandwidth, **c)** either, it is the same, **d)** a chip with
# twice the memory. Answer with a letter in quotes.

# %%
choice = "b"  # solution
check("buy", choice)

# %%
solution("buy")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - A layer is seven matrices; one token uses each weight once, which is two FLOPs.
# - For each number format a chip has one ratio, its ridge point: peak divided by bandwidth.
# - In 16 bit, the intensity of a pass is the number of tokens that share it.
# - Left of the ridge the waiter sets the pace, right of it the chef. The law is a bound, and real
#   chips stay above it by a factor you have seen.
#
# **What it sets up:** all the tokens of a prompt can share one pass. A reply cannot: each of its
# tokens waits for the one before. Reading and writing are two workloads on one machine, and
# [the next notebook](02_prefill_vs_decode.ipynb) lets you watch both.

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### Fewer bits, higher ridge
#
# Most chips calculate faster in fewer bits, but the waiter walks no faster. So the ridge moves right.
# Look for the chips where it stays, or moves left.

# %%
plots.ridges_by_format()

# %% [markdown]
# With weights of half the bytes each byte also brings twice the work. So with [fp8] weights *and* fp8
# maths it still takes 295 tokens to reach the ridge.
#
# Beware of one number in this corner. Some data sheets print 1,979 TFLOP/s for the H100's bf16.
# That is a *sparse* peak, which counts products with zeros that are never done; the
# [dense peak] is half of it. Divide the sparse peak by the bandwidth and you get a ridge of 591
# FLOP per byte, which happens to be the right answer for fp8.

# %% [markdown]
# ### Lighter ingredients: powder
#
# One more exercise. Stored as `int4-g128`, a weight takes 4.15625 bits (4, and its share of a [scale]
# and a zero for every 128 weights), and is still multiplied in 16 bit. How many tokens must share a
# pass to keep the H100's chef busy? Round up to whole tokens.

# %%
bytes_per_weight = kl.number_format("int4-g128").bytes
tokens = math.ceil(h100.ridge("bf16") * bytes_per_weight / 2)  # solution
check("powder", tokens)

# %%
solution("powder")

# %% [markdown]
# ### Time and floor
#
# A whole pass has many operators, some left of the ridge and some right. The library keeps them
# apart. `time` adds up each operator's slower side; `floor` assumes that everything overlaps.

# %%
step = kl.decode_step(llama, context=4096, batch=512)
step

# %%
print("time ", kl.human(step.time(h100), "s"))
print("floor", kl.human(step.floor(h100), "s"))

# %% [markdown]
# With 512 guests the matrices are compute-bound while the notepads are memory-bound. If a kitchen
# could do both at once, it would reach the floor. Nothing that fetches all of this can beat it.

# %% [markdown]
# ### Everyone brings notes
#
# The sack is shared by all guests, the notepads are not. Follow the dashed line: with long notepads
# each new guest costs time from early on, and a guest's share stops falling at 0.54 ms, not 0.14 ms.

# %%
plots.guests(h100, llama)

# %% [markdown]
# ### Your own chip
#
# Give a peak and a bandwidth, and every function here takes your chip. These two numbers are made
# up: put in those of your own machine.

# %%
mine = kl.Chip("my laptop", bandwidth=80e9, peaks={"bf16": 1e12})
small = kl.model("SmolLM2-135M")
step = kl.decode_step(small, context=512)

print(f"ridge {mine.ridge():.1f} FLOP/byte")
print("one token in", kl.human(step.time(mine), "s"), "at best")
