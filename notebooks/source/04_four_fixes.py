# %% [markdown]
# # 4. Four fixes for the waiter
#
# **The one idea:** while a reply is written, the [waiter] is the bottleneck. A lighter [sack], company, thinner
# [notepads][notepad] and good guesses all spare him trips or weight. Each keeps its promise under conditions, and you can
# compute them.
#
# **You will be able to**
# - say what [INT4] really weighs, how much faster it is, and when it is not;
# - tell what ends a [batch]: the notes, the [warehouse], or the [chef];
# - work out what [GQA] saves, and in what it pays;
# - predict what guessing ahead ([speculative decoding]) brings, and why company eats it;
# - do all four on a real language model, on **your** machine.
#
# **You need** [The price paradox](03_price_paradox.ipynb). **Time:** 40 minutes: 25 to read and play, 15 for the
# exercises. *More* takes 10 on top.

# %% [markdown]
# ## The kitchen in this notebook
#
# | in the kitchen | in the machine |
# |---|---|
# | powder for raw ingredients | [weights][weight] in fewer bits ([quantization]) |
# | more [guests][guest] on one trip | a larger batch |
# | cooks who share a clipboard | [query] heads, slices of [attention], that share a [KV head] |
# | an apprentice who chops ahead | drafted [tokens][token], checked in one [pass] |
#
# Each fix is a card with a promise, and has a section of the same shape: the card, the law, reality, your machine,
# the trap. The worked example is Llama-2-70B on an [H100], which you know.

# %%
import kitchenlib as kl
from kitchenlib import llm
from kitchenlib.exercises.four_fixes import check, look_back, predict, progress, repair, solution
from kitchenlib.measured import measurement
from kitchenlib.plots import four_fixes as plots
from kitchenlib.widgets import FixesExplorer

h100 = kl.chip("H100 SXM")
llama = kl.model("Llama-2-70B")
long = kl.model("Llama-3.1-70B")
smol, shape = llm.load(), kl.model("SmolLM2-135M")
formats = {"weights": "fp32", "kv": "fp32"}  # as NumPy keeps them

# %% [markdown]
# ## Predict

# %%
predict("powder")

# %%
predict("guess-five")

# %% [markdown]
# ## 1. A lighter sack: INT4
#
# **The card.** *Grind the ingredients to powder: the sack weighs 35 kg where it weighed 140, so the words come four
# times as fast.*
#
# **The law.** A weight of 4 bits needs a [scale] to be read, and a group of weights shares one. The [embedding] and
# the [LM head] often stay in 16 bit. And the notes are as heavy as ever. One guest with 4,096 tokens of notes
# (`int4-g128`: 128 weights share a scale. `Q4_K_M` is a mix that the program llama.cpp uses):

# %%
plain = kl.decode_step(llama, context=4096).time(h100)

for name in ("bf16", "int4", "int4-g128", "Q4_K_M", "int4-g32"):
    bits = kl.number_format(name).bits
    gain = plain / kl.decode_step(llama, context=4096, weights=name).time(h100)
    print(
        f"{name:10} {bits:6.3f} bits, sack {llama.weight_bytes(name) / 1e9:5.1f} GB, × {gain:.2f}"
    )

# %% [markdown]
# **Reality.** Then come the costs that no sack explains. Follow the ladder down from the promise. Which step is
# the largest?

# %%
plots.int4_ladder()

# %%
look_back("powder")

# %% [markdown]
# Not the step from 4 to 3.2, which is scales, but the one from the law to the clock. Subtract the one from the other:
# how much time is left on each trip?

# %%
a100 = kl.chip("A100 SXM 80GB")
for name in ("M0797", "M0799", "M0810", "M0819"):
    row = measurement(id=name)
    work = kl.decode_step(kl.model(row.model), row.context, weights=row.weights, chips=row.chips)
    law, clock = 1e3 * work.time(a100), 1e3 / row.value
    print(
        f"{row.model:11} {row.weights:8} on {row.chips}: {clock:5.2f} - {law:4.2f} = {clock - law:.2f} ms"
    )

# %% [markdown]
# What is left is nearly the same with raw ingredients and with powder: consistent with a fixed time for each trip,
# which no lighter sack shortens. The lighter the sack, the larger its share.
#
# And reading gets slower, on each of the 13 chips in the picture: powder has to be unpacked, and then it is multiplied
# in 16 bit as before. (A format that the chip can multiply in, such as [fp8], makes reading faster, by the law 1.9
# times.) In company INT4 gains less, too, since the notes are as heavy as ever: the section on pairs shows how much.
#
# **Your machine.** What does the powder taste like? [Perplexity] says among how many words a model seems to choose
# when it reads a text: the lower, the better it expects what comes. Here is the beginning of a story that this model
# has not seen, read by SmolLM2 as it is, and with its weights rounded. (If `load` told you that it took a stand-in,
# go on to the picture: random weights have no taste.)

# %%
story = smol.tokenize(llm.market_day())[:64]

for name, model in (("as it is", smol), ("4 bits, groups of 32", smol.rounded(4, 32))):
    print(f"{name:22} {llm.perplexity(model, story):6.2f}")

# %% [markdown]
# **The trap.** *Four bits cost nothing.* Look again: not one digit has changed. The file that came with the
# installation stores the weights of its layers in 4 bits, in groups of 32. Rounding them once more in the same way
# rounds nothing. The damage was done before we looked. So only what goes further tells anything: 3 bits, 2 bits, larger groups. The
# whole story, at every width:

# %%
plots.perplexity_by_bits()

# %% [markdown]
# Three bits ruin it. Four lose nothing in groups of 32, which is what the file holds, but 30% in groups of 64 and 68%
# in groups of 128, which follow the weights less closely. Five bits lose more than four here: their steps do not lie on
# the values that the file holds. (This is a small model, rounded a second time, in the plainest way. A large one,
# rounded with care, loses far less.) NumPy gets no faster from it: the weights are unpacked again before it
# multiplies. What is shown here is the loss.

# %% [markdown]
# ## 2. Company: batching
#
# **The card.** *One trip of the sack for 32 guests, and the chef is 32 times as busy ([utilization]).*
#
# **The law.** You know this train from the last notebook. How much of the 32 is left when guests bring luggage?

# %%
for notes in (0, 2048, 4096):
    one, many = (kl.decode_step(llama, notes, batch=n).time(h100) for n in (1, 32))
    busy = kl.decode_step(llama, notes, batch=32).utilization(h100)
    print(f"{notes:5,} tokens of notes each: × {32 * one / many:.1f}, chef busy {busy:.1%}", end="")
    print(f", a guest gets {1 / many:.1f} tokens/s instead of {1 / one:.1f}")

# %% [markdown]
# **Reality.** Left: the law, and what was measured on another chip with another model. Right: the same guests, in
# [FLOP] per byte ([arithmetic intensity]). Does each line reach the [ridge point]?

# %%
plots.batch_gain()

# %% [markdown]
# With 4,096 tokens of notes the intensity ends near 110 FLOP per byte, however many guests come. The
# ridge of 295 is out of reach: notes are carried for one guest and cut for one guest. The warehouse has an end, too.
# Which end comes first? (For Llama-3.1-70B, which can hold longer notes.)

# %%
for notes in (512, 4096, 32768):
    ends = kl.batch_limits(long, h100, notes, chips=4)
    ridge = "never" if ends.compute == float("inf") else f"at {ends.compute:,}"
    print(f"{notes:6,} tokens of notes: full at {ends.memory:,} guests, ridge {ridge}")

# %% [markdown]
# **Your machine.** SmolLM2, 1 to 64 guests in one step, against the law with the two numbers of your machine. How
# many times as many tokens do 64 guests get?

# %% tags=["nbval-ignore-output"]
speed = llm.measure(smol, prompt=64, tries=2)
mine = kl.Chip("my machine", bandwidth=speed.stream, peaks={"fp32": speed.multiply})

steps = llm.batch_steps(smol, batches=(1, 2, 4, 8, 16, 64), tries=1)
law = [kl.decode_step(shape, s.context, s.batch, **formats).time(mine) for s in steps]

print(f"the law's ridge is at about {2 * mine.ridge('fp32'):.0f} guests")
plots.batch_measured(steps, law)

# %% [markdown]
# Your chef is much weaker beside his waiter than an H100's, and weights of 32 bit ask him for half as much for each
# byte. From the ridge on, the law's line is flat. The real one lies below it, most with two to four guests: a few
# rows at a time are what programs for matrices do worst.
#
# **The trap.** *An idle chef means that there is room for more guests.* With long notes he idles for ever: it is
# the waiter who is overworked, by notepads now.

# %% [markdown]
# ## 3. Shared clipboards: GQA
#
# **The card.** *Cooks who share a clipboard save up to 87.5% of the weight of the notes.*
#
# **The law.** Llama-2-70B has 64 [query heads][query head], and 8 KV heads for all of them. Each KV head leaves a [key and
# value] of 128 numbers in each of 80 layers, two bytes each.

# %%
for heads in (64, 8):
    print(f"{heads:2} clipboards: {2 * 80 * heads * 128 * 2:9,} bytes for each token of notes")

# %% [markdown]
# **Reality.** "Up to" is wrong: 87.5% is this one model. What do others save, and what does it buy?

# %%
plots.shared_clipboards()

# %% [markdown]
# **Your machine.** SmolLM2 has 9 query heads on 3 clipboards. `ungrouped` gives each query head a clipboard of its
# own, with the same contents. Same words? How much heavier is the real cache?

# %%
ids = smol.chat("How many cooks does a good kitchen need?")
mha = smol.ungrouped()

for name, model in (("3 clipboards", smol), ("9 clipboards", mha)):
    _, cache = model.prefill(ids)
    print(f"{name}: {cache.bytes:,} bytes for {len(ids)} tokens")

print("by the formula:", f"{shape.kv_bytes(len(ids), 'fp32'):,.0f}")
print("same words:", [*smol.write(ids, 6)] == [*mha.write(ids, 6)])

# %% [markdown]
# **The trap.** *GQA makes replies faster.* For one guest, hardly: with 2,048 tokens the lighter notes save 3%, and
# smaller K and V matrices make the sack a tenth lighter. In company it is another matter: with 32 guests a step takes
# half as long, and nine times as many guests fit. (It is not a switch: an existing model has to be trained on for a
# while, about 5% of its training in the paper that proposed GQA.)
#
# Notes can also be stored in fewer bits: `kv="fp8"` halves them, whatever the clipboards.

# %% [markdown]
# ## 4. The apprentice: guessing ahead
#
# **The card.** *A quick apprentice chops five words ahead, and the chef nods all five through on one trip of the
# sack.*
#
# **The law.** Checking six tokens takes one trip of the sack, like writing one, since the chef has time to spare.
# A wrong guess spoils those after it. In its place, or after the last right one, stands the chef's own token. So a
# trip always brings at least one token, and never a wrong one.

# %%
for acceptance in (0.6, 0.7, 0.8, 0.9):
    tokens = kl.expected_tokens(acceptance, drafted=5)
    every = kl.all_accepted(acceptance, drafted=5)
    print(
        f"each guess right with {acceptance:.0%}: {tokens:.2f} tokens a trip, all five {every:.0%}"
    )

# %%
look_back("guess-five")

# %% [markdown]
# **Reality.** The apprentice costs something, and the time to spare is not for ever. What happens when guests come?

# %%
plots.guess_ahead()

# %% [markdown]
# Each guest brings six tokens to check instead of one. Soon the chef has no time to spare, and every wrong guess is
# work for nothing. An apprentice who is a model carries notepads as well, and Llama-2-7B's are thicker than the 70B's:
# it shares no clipboards. That is why the dashed line falls sooner.
#
# **Your machine.** The cheapest apprentice only copies: it looks up where the last words stood before, and guesses
# what followed there. Two prompts, one that repeats itself and one that does not. The text is the same to the
# letter, with guesses or without.

# %% tags=["nbval-ignore-output"]
prompts = {
    "a correction": "Correct the spelling: The cheff cuts the onyons and the carots for the soop.",
    "an answer": "Tell me how bread is made.",
}
how = {"tokens": 10, "tries": 2}
runs = [
    (name, smol.speculate(text, **how), smol.speculate(text, **how, drafted=0))
    for name, text in prompts.items()
]

plots.guesses_measured(runs)

# %%
[guessed.text == plain.text for _, guessed, plain in runs]

# %% [markdown]
# (The correction corrects nothing, by the way: this small model copies every mistake, and copying is easily guessed.)
# And the law, with your machine's two numbers and the share of guesses that were right?

# %% tags=["nbval-ignore-output"]
for name, guessed, plain in runs:
    turn = kl.speculate(shape, None, guessed.prompt, drafted=5, weights="fp32", kv="fp32")
    if guessed.acceptance >= 0:  # something was guessed
        law = turn.speedup(mine, guessed.acceptance)
        print(f"{name:13} {guessed.acceptance:.0%} right: law × {law:.1f}", end="")
        print(f", measured × {plain.tpot / guessed.tpot:.2f}")

# %% [markdown]
# By the law six tokens are checked in the time of one, and a looked-up guess costs nothing, so you could not lose. But
# a few rows at a time are what programs for matrices do worst (you saw it with two to four guests), and the text has to
# repeat itself before anything can be looked up.
#
# **The trap.** *More guesses are better.* DeepSeek-R1 was measured with one to five of them. If each were right with
# 92%, like the first, how many tokens would five bring?

# %%
same = {"source": "TRT-LLM DeepSeek-R1 latency blog"}
for guesses in (1, 2, 3, 4, 5):
    engine = f"TensorRT-LLM MTP{guesses}"
    tokens = measurement(engine=engine, metric="accept_len", **same).value
    gain = measurement(engine=engine, metric="speedup", **same).value
    print(f"{guesses} guesses: {tokens:.2f} tokens a trip, × {gain:.2f}")

print(f"five at 92% each would bring {kl.expected_tokens(0.92, 5):.2f}")

# %% [markdown]
# Each further guess is right more rarely, and is checked all the same: three pay best. (Such published
# [acceptance] lengths count the chef's own token. 1.92 means less than one right guess.)

# %% [markdown]
# ## All four together
#
# What does each fix do to sack, notes, waiter, chef, to the first token and to those after it?

# %%
plots.fixes_matrix()

# %% [markdown]
# For the first token none of them helps: they are fixes for the waiter. (GQA saves a tenth, by smaller matrices.)
# Company even costs: if 32 guests order at once, their prompts take 32 times as long.
#
# Now in pairs. Some help each other, and some want the same thing. Which?

# %%
plots.fixes_together()

# %% [markdown]
# INT4 makes the trips shorter, and guessing gives the chef more to do on each: in company he becomes the bottleneck,
# and the two together bring half of what they promise. Thinner notes are the friend of a light sack and of company: a
# light sack does not help a waiter who carries notepads. Guessing hardly notices them.
#
# All this is for guesses that cost nothing and are right with 80%. With Llama-2-7B as the apprentice, guessing brings
# 32 guests × 1.42, and with both models in INT4 it loses: × 0.69. And measured? INT4 and guessing on one A100, one
# guest, Llama-2-13B:

# %%
raw, raw_guessed, powder, powder_guessed = (
    measurement(id=name).value for name in ("M2317", "M2318", "M2320", "M2321")
)
print(f"INT4 alone × {powder / raw:.2f}, guessing alone × {raw_guessed / raw:.2f}")
print(f"promised   × {powder / raw * raw_guessed / raw:.2f}, together × {powder_guessed / raw:.2f}")

# %% [markdown]
# ## Play: stack the fixes
#
# It opens with one guest and no fix but the model's own clipboards; guesses would be right with 60%. Follow the advice
# (*which fix first?*) and watch the bars: *cuts beyond* is what the chef still cuts when the waiter is there,
# *exchanges* what the chips tell each other. Then start again with 64 guests and notes of 4,096 tokens. Is the advice
# the same?

# %%
FixesExplorer()

# %% [markdown]
# For one guest the sack is everything: INT4 first, × 3.75. For 64 guests with long notes guessing comes first (the
# chef is idle, and checking is nearly free), and a light sack alone hardly matters: in INT4 it is the notes' turn.
# Advice follows the bottleneck, and each fix moves it.

# %% [markdown]
# ## The trap to avoid
#
# *Gains multiply.* Four times, 32 times and five times would make 640. Here is the law for a lighter sack, 32 guests
# with 2,048 tokens of notes, and five guesses that are right with 80%:

# %%
before = 1 / kl.decode_step(llama, context=2048).time(h100)
sack = {"weights": "int4-g128"}

company = 32 / kl.decode_step(llama, 2048, batch=32, **sack).time(h100)
checked = kl.verify_step(llama, 2048, drafted=5, batch=32, **sack)
guessed = 32 * kl.expected_tokens(0.8, 5) / checked.time(h100)

print(f"promised            × {4 * 32 * 5}")
print(f"INT4 and 32 guests  × {company / before:.0f}")
print(f"and five guesses    × {guessed / before:.0f} ({checked.bound(h100)}-bound)")

# %% [markdown]
# Less than a quarter of the promise, and still a kitchen that writes 147 times as much (one ideal chip, which exchanges
# nothing). Guessing alone would have
# brought 3.69: here it doubles the pace, since the chef is busy now. With [fp8] instead, which he multiplies at twice
# the rate, the heavier sack wins: try `sack = {"weights": "fp8"}`.

# %% [markdown]
# ## Where the kitchen leaks
#
# 1. **Unpacking is work.** The law lets INT4 weights be multiplied at the full 16-bit rate. Measured, reading in
#    `Q4_K_M` reaches 75% to 91% of the speed in 16 bit.
# 2. **Quality is not one number.** Perplexity on 300 words of one text says little about a long sum or a rare
#    language. Measure what you use.
# 3. **Guests are not alike.** The law has 32 guests with equal notes. Real ones come and go.
# 4. **Guesses come in clumps.** The formula lets each guess be right with the same chance. Measured, the later ones
#    are right more rarely (3.01 tokens a trip instead of 4.92), and text is easy in some places and hard in others.
# 5. **A fixed time for each trip.** Starting a step takes a moment that no fix shortens: 3 ms on one A100, above.
# 6. **The same text, up to rounding.** A pass over six tokens adds the same numbers in another order. Two candidates
#    that are nearly equal may change places.

# %% [markdown]
# ## Exercises
#
# ### Bits with scales
# A format stores weights in 4 bits, in groups of 64. Each group shares a scale and a zero point of 16 bits each.
# How many **bits** does a weight take?

# %%
bits = 4 + 2 * 16 / 64  # solution
check("bits", bits)

# %%
solution("bits")

# %% [markdown]
# ### Company with luggage
# 16 guests with 8,192 tokens of notes each share the trips (Llama-3.1-70B in [bf16], one ideal [H100] with a bigger
# warehouse). How many **times** as many tokens per second does the kitchen write as with one such guest?

# %%
one = kl.decode_step(long, context=8192).time(h100)  # solution
many = kl.decode_step(long, context=8192, batch=16).time(h100)  # solution
times = 16 * one / many  # solution
check("company", times)

# %%
solution("company")

# %% [markdown]
# ### Clipboards
# A model has 40 query heads and 8 KV heads. Which share of the notes does it save, against one KV head for each
# query head, in **%**?

# %%
percent = 100 * (1 - 8 / 40)  # solution
check("clipboards", percent)

# %%
solution("clipboards")

# %% [markdown]
# ### Tokens for each trip
# `drafted` tokens are guessed, and each is right with the chance `acceptance`, as long as those before it were. The
# chef adds one token. Write the mean number of **tokens** that a trip brings.


# %%
def tokens_per_trip(acceptance, drafted):
    return sum(acceptance**n for n in range(drafted + 1))  # solution


check("yield", tokens_per_trip)

# %%
solution("yield")

# %% [markdown]
# ### Repair this kitchen
# Llama-3.1-70B on four H100s has to serve 64 guests with 16,384 tokens of notes each. They do not even fit. Each of
# them should get a token every 15 ms, and a million tokens should cost 75 cents at most (a chip costs 2.95 dollars an
# hour, and all times are ideal). You pay in days of work: weights in fp8 take 2 days and in `int4-g128` 4, notes in
# fp8 take 2, an apprentice who guesses 3 tokens (for nothing, each right with 60%) takes 3, and four more chips take 6
# (and their rent). `repair(...)` tries a plan. What is the fewest **days** that does it?

# %%
repair(weights="bf16", kv="bf16", chips=4, drafted=0)

# %%
days = 7  # solution
check("repair", days)

# %%
solution("repair")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - INT4: 3.1 to 3.8 times lighter with its scales, 1.9 to 2.8 times as fast for one guest on one chip, and slower
#   at reading. The taste suffers, the more the coarser the groups and the smaller the model: measure it.
# - Batching: the largest gain by far, until notes or the warehouse end it. Long notes keep the ridge out of reach, and
#   each guest waits a little longer.
# - GQA: thinner notes, and a sack a tenth lighter. Little for one guest; in company it buys guests and pace.
# - Guessing ahead: the same text in fewer trips, paid by an idle chef. Company takes that time away.
# - Ask first what the waiter carries: sack or notes. Then choose.
#
# **What it sets up:** these fixes keep the kitchen and change its habits. Newer kitchens are built differently:
# a [stock] instead of notes, stations instead of one sack, a pantry, tools. That is the next notebook.

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### The words behind the numbers
#
# What does the model write when its weights are rounded, in groups of 64? Is another reply always a worse one?

# %%
plots.replies_by_bits()

# %% [markdown]
# Other words are not always worse words. At 3 bits there is no doubt.
#
# ### The first bite
# A guest complains that the *first* token takes too long: the prompt has 8,000 tokens. Which of the four fixes makes
# reading it twice as fast? **a)** INT4 weights, **b)** more guests, **c)** fewer clipboards, **d)** guessing ahead, **e)**
# none of them.

# %%
choice = "e"  # solution
check("first-bite", choice)

# %%
solution("first-bite")

# %% [markdown]
# ### Room for guests
# Two H100s share Llama-2-70B. How many **guests** with 4,096 tokens of notes fit beside the sack in the format
# `int4-g128`, if a tenth of the memory stays free?

# %%
guests = kl.max_batch(llama, h100, 4096, "int4-g128", chips=2)  # solution
check("more-guests", guests)

# %%
solution("more-guests")
