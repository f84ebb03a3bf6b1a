# %% [markdown]
# # 5. Modern systems
#
# **The one idea:** newer kitchens are built differently. Each new part changes one of three things: the [bytes][byte] that
# the [waiter] carries, the [FLOPs][FLOP] that the [chef] cuts, or the number of [tokens][token]. Ask which of them it is,
# and whether that was the bottleneck, and you know where it helps.
#
# **You will be able to**
# - say what a [stock] weighs and what it forgets;
# - compute what fetching a few documents saves, and see why it cannot answer what it did not fetch;
# - tell what a mixture of [experts][expert] ([MoE]) carries for one [guest], and for 32;
# - count a picture or half a minute of sound in tokens;
# - work out what hidden tokens and [tool calls][tool call] cost in seconds, notes and dollars.
#
# **You need** [Four fixes](04_four_fixes.ipynb). **Time:** 40 minutes: 27 to read and play, 13 for the exercises. *More*
# takes 20 on top.

# %% [markdown]
# ## The kitchen in this notebook
#
# | in the kitchen | in the machine |
# |---|---|
# | a stock, boiled down from all that was said | the state of a [state-space model] ([Mamba]) |
# | an archive pantry in the cellar | documents, found by [vectors][vector] ([RAG]) |
# | specialised stations | experts, and a [router] that picks them |
# | orders for all senses | pictures and sound as rows of numbers |
# | a [scratchpad] | [reasoning tokens][reasoning token] |
# | appliances | tools that a program runs for the model ([ReAct]) |
#
# Every section has the same shape: the card's promise, a miniature that runs here, the law for a real system, the
# trap, and a line in your ledger on what it changed: bytes, FLOPs or tokens. (If `load` tells you that it took a stand-in,
# skip what SmolLM2 says: random weights have no words.)

# %%
import numpy as np

import kitchenlib as kl
from kitchenlib import llm
from kitchenlib.exercises.modern_systems import check, look_back, predict, progress, solution
from kitchenlib.miniatures import appliances, pantry, patches, scratchpad, stations, stock
from kitchenlib.miniatures.ledger import Ledger
from kitchenlib.plots import modern_systems as plots
from kitchenlib.senses import image_tokens
from kitchenlib.widgets import PantryExplorer, ScratchExplorer, StationsExplorer, StockExplorer

h100 = kl.chip("H100 SXM")
small, large = kl.model("Llama-3.1-8B"), kl.model("Llama-3.1-70B")
smol = llm.load()
ledger = Ledger()

# %% [markdown]
# ## Predict

# %%
predict("stock")

# %%
predict("stations")

# %% [markdown]
# ## 1. The perpetual stock
#
# **The card.** *The notes are boiled down to a stock of five kilograms. However long the guest talks, it gets no
# heavier.*
#
# **In miniature.** A [layer] of a state-space model keeps a table of numbers, its state: that is the stock. With each
# token it lets a little of the old go, stirs something of the new in, and takes a spoonful. [Attention] notes everything,
# and looks through all of it. Here is one layer of each, fed the same stream of rows. Look at both ends of the right-hand
# picture: which one is faster after 16 tokens, and which after 16,384?

# %% tags=["nbval-ignore-output"]
plots.stock_measured(stock.race())

# %% [markdown]
# Attention at first, and the stock as soon as there is much to look through.
#
# **The law.** What do real models keep for one guest, stock and notes together?

# %%
lengths = (100, 1_000, 100_000)
print("tokens:      ", *(f"{tokens:>9,}" for tokens in lengths))

for name in ("Mamba-2.8B", "Mamba2-2.7B", "Nemotron-H-8B", "Llama-3.1-8B"):
    model = kl.model(name)
    kept = [model.state_bytes() + model.kv_bytes(tokens) for tokens in lengths]
    print(f"{name:13}", *(f"{kl.human(each, 'B'):>9}" for each in kept))

# %%
look_back("stock")

# %% [markdown]
# So 13 to about 100 MB, not 5 kg: Mamba-2.8B's *weights* weigh 5.5 GB. The two Mambas keep a stock in every layer and
# nothing else. Nemotron-H is a [hybrid]: 24 layers with a stock, 4 with notes, and 24 with neither. And for a while notes
# are the lighter ones, because a stock weighs as much after the first word as after the last.
#
# **What it forgets.** A test: a stream of items, each at an address, and between them fillers that should be ignored.
# Then the items are asked for. The weights are set by hand, so this is what such a memory *can* do, not what training
# finds. Up to how many items does a stock of 64 rows answer rightly?

# %%
plots.stock_forgets()

# %% [markdown]
# Sixty-four, and then the items run into each other. Attention gives all of them back, and pays in notes. (The dotted line is
# a stock that stirs in *everything*, fillers too. That a stock can choose what to take in is what Mamba's papers call
# *selective*.) To look things up word for word, hybrids keep a few layers of attention.
#
# **The trap.** *No notes, so it is faster.* A stock is read **and written** at every step, and the [sack] is as heavy as
# ever. Who is faster in a short conversation?

# %%
hybrid = kl.model("Nemotron-H-8B")
for guests in (1, 32):
    for notes in (256, 4_096):
        a, b = (kl.decode_step(m, notes, batch=guests).time(h100) for m in (hybrid, small))
        print(f"guests {guests:2}, {notes:5,} tokens:", end=" ")
        print(f"with a stock {1e3 * a:.2f} ms, with notes {1e3 * b:.2f} ms")

# %% [markdown]
# By the law the hybrid is faster from 2,819 tokens on for one guest (its sack is a little heavier, too), and from 1,821 on
# for 32.
#
# **What it changes:** bytes, those that are kept for a guest.

# %%
kept = hybrid.state_bytes() + hybrid.kv_bytes(100_000)
ledger.note(
    "stock",
    "kept for a guest after 100,000 tokens",
    small.kv_bytes(100_000),
    kept,
    "B",
    price="it forgets; in short conversations it is heavier than notes; the sack stays",
)

# %% [markdown]
# ## 2. The archive pantry
#
# **The card.** *The big books stay downstairs, and only the three pages that suit the order come up.*
#
# **In miniature.** Here is an archive of 216 recipe cards. They were written for this collection, so no model knows them
# by heart. Each card becomes a vector of 64 numbers, and so does a question. The [cosine] tells which cards point the
# same way as the question. (Our vectors come from counting which words keep company. Real kitchens use a trained model
# for that. Everything after it is the same.)

# %%
archive = pantry.Pantry()
question = pantry.questions()[0]
print(question.text)

for found in archive.search(question.text, k=3):
    print(f"{found.similarity:.2f}  {found.card.name}: {found.card.text[:50]}...")

# %% [markdown]
# Is the right recipe always among the three? And does it matter how you ask?

# %%
plots.pantry_hits()

# %% [markdown]
# In the recipe's own words: always. In other words: mostly not. (Those questions were written to be hard: they avoid the
# name of the dish. A trained model would probably find more of them.) What came instead?

# %%
for miss in pantry.misses(archive)[:3]:
    print(f"{miss.question.text}\n   wanted: {' and '.join(miss.lacking)}", end="")
    print(f"   came: {miss.found[0].card.name}")

# %% [markdown]
# **The law.** Three ways to answer, for Llama-3.1-8B on one [H100] with 32 guests: the whole archive in every [prompt];
# the same, with its notes kept from an earlier request ([prefix caching]); or three cards. Which of the bars does keeping
# the notes not shorten?

# %%
plots.archive_or_three()

# %% [markdown]
# Those of the notes. Kept notes spare the chef the reading. The waiter carries them all the same: 32 times in most kitchens,
# and once where all guests ask about the *same* archive and the program that does the sums knows how to share. Three
# cards are less to read **and** less to carry. The search is next to nothing beside that: 216 vectors of 1,024 numbers
# are less than a megabyte. (To make the vector of the question is not counted.)
#
# **Your machine.** SmolLM2 gets the question above with no card, with three, and with six. When does it know, and how long
# do you wait?

# %% tags=["nbval-ignore-output"]
for asked in pantry.measured(smol, question, sizes=(0, 3, 6), tokens=15):
    print(f"{asked.cards:2} cards, {asked.prompt:4} tokens: first word after {asked.ttft:.2f} s")
    print(f"   {asked.text!r}: {'right' if asked.right else 'wrong'}")

# %% [markdown]
# Without a recipe it invents something. With three it knows. With six it knows as well, and you wait longer for the same
# words. (All 216 cards are over 14,000 tokens. SmolLM2 holds 8,192, so the whole archive would not go in at all.)
#
# **The trap.** *With retrieval the model knows the archive.* It knows three cards. What was not fetched cannot be
# answered, however good the model. And fetching does not lighten the sack: for one guest the words come 1.1 times as
# fast, for 32, each with thick notes of his own, 4.6 times. (Three is a setting, by the way, no law.)
#
# **What it changes:** tokens, those of the prompt.

# %%
either = plots.PantrySetting()  # 216 cards, a question, three that are fetched
ledger.note(
    "pantry",
    "to read for one question",
    either.full.prompt,
    either.fetched.prompt,
    "tokens",
    price="what was not fetched cannot be answered; the sack stays",
)

# %% [markdown]
# ## 3. Specialised stations
#
# **The card.** *Sixteen sacks, each for its own kind of dish, 500 kg together. A pudding takes no more than 40 kg.*
#
# **In miniature.** A layer with 16 experts, and a router that sends each row to one of them. Only those that somebody
# visits are read.

# %%
layer = stations.Stations(experts=16, per_token=1)
dice = np.random.default_rng(0)

for guests in (1, 8, 32):
    steps = dice.standard_normal((200, guests, layer.hidden), dtype=np.float32)
    visited = np.mean([layer.touched(rows) for rows in steps])
    print(f"guests {guests:2}: {visited:.1f} of 16 sacks, the mean of 200 steps")

# %%
look_back("stations")

# %% [markdown]
# **The law.** First the card's own numbers: which sacks make 500 kg in all and 40 kg for one token? Something is shared
# by all tokens. With one expert for a token there is exactly one answer. With two there is none:

# %%
card = stations.split(total=500e9, active=40e9, experts=16)
print(f"shared {card.shared / 1e9:.2f} GB, each expert {card.expert / 1e9:.2f} GB")

for guests in (1, 8, 32, 64):
    print(f"guests {guests:2}: {card.carried(guests) / 1e9:.0f} GB a step")

# %%
try:
    stations.split(total=500, active=40, experts=16, per_token=2)
except ValueError as problem:
    print(problem)

# %% [markdown]
# With 32 guests nearly everything is carried. The next picture has two halves. On top is that kitchen, and Llama-4-Scout, a
# real one that is built like it. At the bottom is what was measured on a DGX Spark: how many times as many tokens do 2, 8
# and 32 guests get as one, with experts and without? (Dotted is the law for experts that are not equally liked.)

# %%
plots.stations_union()

# %% [markdown]
# With experts two guests gain next to nothing: × 1.04. The second one wants sacks of his own, and by the law that leaves
# × 1.31. The rest is not in the law. From four guests on the gain is above the even law: experts are not equally liked.
# Without experts two guests get nearly twice as many tokens.
#
# And does the pudding have a sack of its own? No: experts are picked at every token, in every layer, and what they know
# is mostly kinds of words. (Under *More* you see it in rows of SmolLM2.)
#
# **The trap.** *40 of 500 kg are needed, so a small [warehouse] will do.* The next token may want any expert, in any layer:
# all sixteen sacks stay in the warehouse.
#
# **What it changes:** FLOPs, with any number of guests. Bytes, with few. (Each [weight] is two bytes and two FLOPs here, so
# the numbers are the same. And they are held against a dense model as heavy, which would answer better.)

# %%
ledger.note(
    "stations",
    "cut for one token, beside a dense sack as heavy",
    card.total,
    card.active,
    "FLOP",
    price=f"all 500 GB stay in the warehouse; 32 guests carry {card.carried(32) / 1e9:.0f} of them",
)

# %% [markdown]
# ## 4. Cooking with all senses
#
# **The card.** *Pictures and sounds are translated into orders like all others. The chef sees one layout.*
#
# **In miniature.** A picture of 112 × 112 pixels is cut into [patches][patch] of 14 × 14. Each has 588 numbers. One
# [matrix] makes a row of 576 out of them, as wide as the rows of SmolLM2's words. Is anything lost on the way?

# %%
plots.picture_as_rows()

# %% [markdown]
# Here nothing has changed but the layout: the picture can be had back from its rows. (The matrix was made for this picture.
# A fixed one, as real models have, loses something of others: 576 numbers are fewer than 588.) So give the rows to
# SmolLM2. Do they take longer to read than rows of words? And what does it see, if a question in words follows?

# %% tags=["nbval-ignore-output"]
parts = patches.cut(plots.chef_pixels())
asked = smol.rows(smol.chat("Describe the picture."))
seen = patches.projection(parts, size=float(asked.std())).rows(parts)
words = smol.rows(smol.tokenize(llm.market_day())[:64])

print("picture:", patches.read(smol, seen, tries=1))
print("words:  ", patches.read(smol, words, tries=1))

# %%
print("with the picture:   ", patches.reply(smol, np.concatenate([seen, asked]), tokens=12))
print("without the picture:", patches.reply(smol, asked, tokens=12))

# %% [markdown]
# They take as long as words: a row is a row. And with the picture or without, it describes the same woman, whom nobody has
# drawn. The model reads the rows and notes them, but it has not learned to see. What it lacks is not the layout but the training, and an [encoder], in which the
# patches look at each other first.
#
# **The law.** So count rows. How many pages of text is a picture? And does a larger one cost more?

# %%
plots.senses_in_tokens()

# %% [markdown]
# Qwen2-VL asks how large it is, and so does LLaVA-1.6, up to a limit. The others bring every picture to a size of their own
# first. And few rows need not mean that little is seen: compare the small print on the right. (It is the encoder that has
# more work then.) Sound is rows by the second: half a minute is 375 tokens with Voxtral, which joins four rows of its
# encoder to one.
#
# **The trap.** *A picture is one item of the prompt.* It is hundreds of rows, and they are carried in the notes for every
# token of the reply. What the family throws away before that, the chef never sees.
#
# **What it changes:** tokens. Mostly more than the words of the same page. With Gemma-3 fewer, if it can still read them.

# %%
ledger.note(
    "senses",
    "to read: a page of 500 words as a picture",
    plots.page_tokens(500),
    image_tokens("Qwen2-VL", 1240, 1754),
    "tokens",
    price="an encoder works before it; 256 with Gemma-3, if that is enough to read it",
)

# %% [markdown]
# ## 5. The scratchpad
#
# **The card.** *Before serving, a complicated order is broken down into steps.*
#
# **In miniature.** Why do steps help? The lasagne needs ragù, ragù needs stock, stock needs bones, and so on. A [pass] of a
# model has a fixed number of layers, and here each layer can look up one such fact, by attention. (Its weights are set
# by hand.) Seven links from the lasagne: what is needed? How far does one pass get, and how far a cook with a pad?

# %%
facts = scratchpad.recipes()
cook = scratchpad.Cook(layers=3)

print("in one pass: ", cook.answer(facts, "lasagne", hops=7))
print("with a pad:  ", cook.answer(facts, "lasagne", hops=7, scratch=True))

# %% [markdown]
# In one pass the cook gets as far as there are layers. On the pad it writes down where it is, and the next pass starts
# from there. What if there are more links, or fewer?

# %%
plots.scratch_hops()

# %% [markdown]
# So a scratchpad buys *depth*, and its price is tokens. (The dashed line is a cleverer cook, whose facts look each other up
# as well. It gets further in one pass, and to an end all the same.)
#
# **The law.** A hidden token is a token like any other: a trip of the sack, a line in the notes, a line on the bill. What
# do 2,000 of them cost, before a reply of 300?

# %%
plots.scratch_bill()

# %% [markdown]
# **The trap.** *You do not see it, so it costs nothing.* The first *visible* word comes after all of them. They stay in the
# notes to the end. And [price sheets][price sheet] charge them as output. Thinking is cheap where tokens are: in company,
# in a small model. It is dear where notes fill the warehouse: with 2,000 hidden tokens for each guest, 154 guests fit
# instead of 391.
#
# **What it changes:** tokens. More of them, and that is the point.

# %%
ledger.note(
    "scratchpad",
    "written for one answer",
    300,
    300 + 2_000,
    "tokens",
    price="in exchange for depth: questions that one pass cannot answer",
)

# %% [markdown]
# ## 6. Appliances
#
# **The card.** *For some jobs the chef has appliances: a script does it better.*
#
# **In miniature.** Here the loop really runs. The cook writes a thought and an action. A program carries the action out
# and writes what came of it below. All of that is the next prompt. (This cook is a script, so that the page is the same
# for everybody. It does read: its numbers come from the cards. Under *More* the language model has a go.)

# %%
run = appliances.react(appliances.QUESTION, appliances.scripted_cook)
print(run)

# %% [markdown]
# Its third call was wrong. It read the complaint and mended it. How long does the appliance take, and how long would the
# same in the head, if that takes 200 tokens (a guess)?

# %% tags=["nbval-ignore-output"]
plots.tool_or_head(appliances.timed(appliances.calculator, "137 * 110"))

# %% [markdown]
# The appliance itself takes no time to speak of, and it is right. (SmolLM2, asked for 137 × 110, multiplies wrongly.) What
# takes time is to *ask* for it, in tokens. And a model remembers nothing between two calls: each prompt holds all that was
# before, and the descriptions of all the tools. What do five calls add up to?

# %%
plots.tool_turns()

# %% [markdown]
# **The trap.** *A tool call is free.* The tool is. Around it 1,748 tokens were sent to write 136, and with the descriptions
# of 30 tools of a real set, used or not, it would be over 100,000. Prefix caching makes such loops bearable. It saves
# reading, and nothing of the writing.
#
# **What it changes:** tokens: fewer to write, more to read.

# %%
calls = appliances.worked()  # the same run, in tokens of SmolLM2
sent = sum(call.prompt for call in calls)
written = sum(call.reply for call in calls)

ledger.note(
    "appliances",
    "written for one calculation (200: a guess)",
    200,
    calls[-2].reply,
    "tokens",
    price=f"{written} written and {sent:,} sent for the whole answer, in {len(calls)} calls",
)

# %% [markdown]
# ## Your ledger
#
# The story ends with a thesis: a quicker knife does not make a quicker kitchen. What does is less to carry, less to keep,
# machines for what machines do better, and a plan. Here it is, in the numbers that your sections have computed:

# %%
ledger

# %%
plots.thesis(ledger)

# %% [markdown]
# Four of them make something lighter, and each pays for it elsewhere: in what is forgotten, in what was not fetched, in a
# full warehouse, in talk. Two of them add tokens, and buy something with them: sight (with this family), and depth. None
# makes the chef chop faster. (The other kind of lighter ingredients you know from the last notebook: [INT4].)

# %% [markdown]
# ## Play: four kitchens
#
# Take the one that you are curious about.
#
# **A stock or notes.** Set the conversation to 256 tokens, then to 65,536. Then put Llama-3.1-8B beside a Mamba.

# %%
StockExplorer()

# %% [markdown]
# **The whole archive or three pages.** How many documents does it take until the archive does not fit? What does a
# cached prefix change, and what not?

# %%
PantryExplorer()

# %% [markdown]
# **Guests at the stations.** From how many guests on is a mixture of experts hardly lighter than a dense model with as many
# weights? What if some experts are liked better (routing)?

# %%
StationsExplorer()

# %% [markdown]
# **A budget for thinking.** What do 2,000 hidden tokens cost one guest? And 32 guests? Then go back to one, and let eight
# samples think (eight tries side by side, which vote at the end): what happens to the time, and to the guests who fit?

# %%
ScratchExplorer()

# %% [markdown]
# ## The trap to avoid
#
# *Modern means faster.* Faster at what? One guest, a manual of 100,000 tokens in the prompt, and the first word takes long.
# What does each change do to the first word, and to the words after it (one ideal H100)?

# %%
kitchens = {
    "as it is": (small, 100_000, 0),
    "a hybrid": (hybrid, 100_000, 0),
    "three pages": (small, 2_000, 0),
    "2,000 hidden tokens": (small, 100_000, 2_000),
}

for name, (model, prompt, hidden) in kitchens.items():
    pace = kl.decode_step(model, context=prompt).time(h100)
    first = kl.ttft(model, h100, prompt) + hidden * pace
    print(f"{name:20} first word {first:6.3f} s, then {1e3 * pace:.2f} ms for each")

# %% [markdown]
# Fetching makes the first word come 137 times sooner, and the words after it not even twice as fast. The hybrid helps with
# both, about twice. Thinking makes it worse. With short prompts and slow words the order would be another one: an exercise
# asks for it. So first ask what the bottleneck is, for *your* guests.

# %% [markdown]
# ## Where the kitchen leaks
#
# 1. **Miniatures are not products.** The stock and the cook have weights set by hand, and the vectors come from word
#    counts. They show what such a machine can do, and what it cannot.
# 2. **Experts are not evenly liked.** The law lets each be equally likely. With popular ones a step touches fewer: with 32
#    guests the measured step of gpt-oss-120b took 0.68 of the time that this law allows. So here, in company, it is an
#    estimate and no bound.
# 3. **The eye works, too.** Before an 8B model reads Gemma's 256 rows, Gemma's encoder has cut more than the model will.
#    (The ears, encoders of sound, are not counted here at all.)
# 4. **Guests do not walk in step.** Real conversations have notes of different lengths, and thoughts end at different times.
# 5. **A tool may be slow.** While a search engine takes two seconds, the notes of the guest wait in the warehouse.
# 6. **Quality is not in the law.** Whether a hybrid, a router or two thousand hidden tokens answer *better* is a matter of
#    measuring. The law says what they cost, and nothing about what they are worth.

# %% [markdown]
# ## Exercises
#
# ### A stock
# A state-space model has 48 layers. Each keeps, for every one of 64 heads, a table of 64 × 128 numbers in 16 bit. How
# many **MB** does the stock of one guest weigh?

# %%
megabytes = 48 * 64 * 64 * 128 * 2 / 1e6  # solution
check("state", megabytes)

# %%
solution("state")

# %% [markdown]
# ### Where a stock pays
# A hybrid keeps a stock of 60 MB for each guest, and 20,000 bytes of notes for each token. Its rival keeps 120,000 bytes
# for each token, and no stock. From how many **tokens** on does the hybrid keep less?

# %%
tokens = 60_000_000 // (120_000 - 20_000) + 1  # solution
check("crossing", tokens)

# %%
solution("crossing")

# %% [markdown]
# ### Different experts
# Each of `tokens` tokens visits `per_token` of `experts` experts, all equally likely. Write the mean number of different
# **experts** that a step needs.


# %%
def touched(experts, per_token, tokens):
    return experts * (1 - (1 - per_token / experts) ** tokens)  # solution


check("touched", touched)

# %%
solution("touched")

# %% [markdown]
# ### Sent again
# A cook with appliances calls the model 6 times. Every prompt holds 600 tokens of tool descriptions, the question of 100
# tokens, and all that was written and found before; each call makes that 150 tokens longer. How many prompt **tokens**
# are sent in all?

# %%
sent = kl.resent_tokens(600 + 100, 150, 6)  # solution
check("loop", sent)

# %%
solution("loop")

# %% [markdown]
# ### Slow words
# One guest at a time, in short conversations (200 tokens), with Llama-3.1-8B. The guest complains that the words come
# slowly. What helps most? **a)** a hybrid of the same weight, **b)** fetching three pages, **c)** a mixture of experts of
# the same weight, of which a token visits an eighth, **d)** a scratchpad of 2,000 tokens.

# %%
choice = "c"  # solution
check("slow-words", choice)

# %%
solution("slow-words")

# %%
progress()

# %% [markdown]
# ## What you now know
#
# - A stock: a fixed number of bytes for each guest, 13 to 103 MB and not 5 kg. It forgets what does not fit, and pays
#   from a thousand or two tokens on.
# - A pantry: fewer tokens to read and thinner notes. What it does not find cannot be answered.
# - Stations: fewer FLOPs, always. Fewer bytes, for few guests. All of it in memory.
# - Senses: hundreds of tokens for a picture, carried like words.
# - A scratchpad: more tokens, for more depth. Paid before the first word.
# - Appliances: no tokens for the work, many for the talk around it.
# - Bytes, FLOPs or tokens: ask which one changes, and whether it was the bottleneck.
#
# **What it sets up:** you can now compute what any of these systems must take at least. How far are real kitchens from
# that, and yours?

# %% [markdown]
# ## More
#
# Nothing later depends on what follows.
#
# ### Notepad diets
#
# Back to the notes. Besides [GQA] there are more ways to keep them thin. With a [sliding window] most layers look back only
# a little, and forget what is behind it. With [MLA] a token leaves one short row in each layer, from which all keys and
# values are made again. And you know hybrids. Which diet is the strictest at 131,072 tokens?

# %%
plots.notepad_diets()

# %% [markdown]
# Layer for layer the hybrid, then the narrow window. But a window is a diet for long conversations only: below some 1,800
# tokens Gemma's notes are *thicker* than those of the 70B. And of what it keeps at the end, nearly all lies in the ten
# layers that have no window. What a diet changes: bytes, those of the notes.

# %% [markdown]
# ### Do experts know the dish?
#
# A router decides by the row of a token. Here are the rows of our recipe cards, halfway up in SmolLM2, and sixteen experts
# that were found by grouping rows that are alike. Nobody trained this router, so it is a model of one. Does an expert tell
# you the course of a card, or the kind of word? ("Tells 63%" means: who knows the expert has lost 63% of the doubt.)

# %%
plots.stations_by_token()

# %% [markdown]
# The kind of word. A dessert card visits nearly all sixteen. (All our cards are about cooking, so their topics lie close
# together. Studies of trained routers mostly report the same, and some find experts for a field as different as program
# code.)

# %% [markdown]
# ### The language model with appliances
# SmolLM2 writes each turn itself. Does it manage the format?

# %%
print(appliances.react(appliances.QUESTION, appliances.llm_cook(smol, tokens=24), turns=1))

# %% [markdown]
# It does not. It rambles, and the loop tells it so and goes on. (A model of 135 million weights has not learned this. Large
# ones are trained for it.)
#
# ### Several samples, and a vote
#
# Ten samples of a chain share one prompt. Is that ten times the time?

# %%
plots.scratch_samples()

# %% [markdown]
# Hardly longer than one: they share every trip of the sack. What they take is room, notes for each of them. So they are
# cheap where seats are free, and not in a full house.
#
# On your machine, with SmolLM2: eight samples of four tokens side by side, and one chain of 32.

# %% tags=["nbval-ignore-output"]
print(scratchpad.measured(smol, samples=8, own=4))

# %% [markdown]
# Whether a vote of the samples helps depends on the mistakes:

# %%
plots.votes()

# %% [markdown]
# ### An index
# To compare a question with every vector is dear in a large archive. An [inverted file] sorts the cards into lists of
# neighbours beforehand, here 16, and a question looks through the nearest lists only. How much of what a full search finds
# does it still find ([recall]), and how much does it read?

# %%
plots.recall_by_bytes()

# %% [markdown]
# ### A billion vectors
# What does an index weigh, and what does it read for one question?

# %%
plots.three_indexes()

# %% [markdown]
# ### A picture
# Qwen2-VL keeps a picture at its own size, cuts it into patches of 14 × 14 pixels, and joins 2 × 2 of them to one token.
# How many **tokens** is a picture of 1,120 × 840 pixels?

# %%
tokens = (1120 // 28) * (840 // 28)  # solution
check("picture", tokens)

# %%
solution("picture")

# %% [markdown]
# ### The first word
# A prompt is read in 0.5 s. Then a token comes every 20 ms: first 3,000 that the model writes for itself, then a reply of
# 200. After how many **seconds** does the reader see the first word?

# %%
seconds = 0.5 + 3000 * 0.020  # solution
check("first-word", seconds)

# %%
solution("first-word")

# %% [markdown]
# ### Fetched
# An archive has 400 cards of 150 tokens each, a question has 50. Instead of all the cards the prompt gets the 5 that fit
# best. How many **times** shorter is it?

# %%
times = (400 * 150 + 50) / (5 * 150 + 50)  # solution
check("fetched", times)

# %%
solution("fetched")

# %% [markdown]
# ### One expert
# A model weighs 400 GB. In each layer a token visits 2 of 8 experts, and with what all tokens share, 130 GB are read for
# it. How many **GB** does one expert weigh, all layers together?

# %%
gigabytes = (400 - 130) / (8 - 2)  # solution
check("split", gigabytes)

# %%
solution("split")

# %% [markdown]
# ### Long guests
# How many **guests** with 131,072 tokens of notes each fit beside Llama-3.1-70B on eight H100s (16 bit, a tenth of the
# memory stays free)?

# %%
guests = kl.max_batch(large, h100, 131_072, chips=8)  # solution
check("long-guests", guests)

# %%
solution("long-guests")
