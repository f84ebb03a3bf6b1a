# %% [markdown]
# # Welcome to the LLM Kitchen
#
# **The one idea:** a large language model ([LLM]) is a kitchen whose ingredients take far longer to
# carry than to cut. Who carries, who cuts, and who waits decides how fast it answers and what it
# costs.
#
# **You will be able to**
# - find your way through the collection;
# - run cells, move a slider, make a prediction and have an answer checked;
# - name the five roles of the kitchen and what stands behind them.
#
# **You need** nothing but this page. No [GPU], no network.
# **Time:** 10 minutes.

# %% [markdown]
# ## How to use these pages
#
# A grey box is a *cell* of Python. Click into it and press **Shift+Enter** to run it. Run the
# cells in order, from the top. If something looks odd, choose *Kernel → Restart Kernel and Run
# All Cells* in the menu. What you answered is kept in a file beside the notebook and comes back.
#
# Try it. This cell checks that everything the collection needs is in place.

# %%
from kitchenlib.selftest import selftest

selftest()

# %% [markdown]
# If it complains, it also says what to do. Then load the tools of this page:

# %%
from dataclasses import replace

import kitchenlib as kl
from kitchenlib.exercises.welcome import check, look_back, predict, progress, solution
from kitchenlib.plots import welcome as plots
from kitchenlib.plots.ratio import kitchen
from kitchenlib.widgets import TasteExplorer

h100 = kl.chip("H100 SXM")
llama = kl.model("Llama-2-70B")

# %% [markdown]
# ## The five roles
#
# When you chat with a language model, this happens again and again, once for each [token] it
# writes (a token is a word or a piece of one):

# %%
kitchen(h100, llama)

# %% [markdown]
# | in the kitchen | in the machine | what it does |
# |---|---|---|
# | [sacks][sack] of ingredients | the model's [weights][weight], in memory | sit in the [warehouse], far from the knife |
# | an [order ticket] | your [prompt], as tokens | says what to cook |
# | a [notepad] on a clipboard | the [KV cache] | remembers what was said; grows with every token |
# | a [waiter] with a cart | the memory bus and its [bandwidth] | wheels sacks and notepads to the [chef] |
# | a chef with a knife | the compute cores and their [peak] | makes [cuts][cut], that is calculations ([FLOP]) |
#
# A [crumb] is one [byte]. A billion crumbs weigh a kilogram, so a kilogram of sack is a gigabyte.
# Every number on these pages is computed as you read, from data with a source. Any word you do not
# know is in the [glossary](glossary.ipynb).

# %% [markdown]
# ## Predict
#
# This kitchen is an [H100], a chip made for data centres. It serves **one** [guest], and writes a
# reply. Guess first. Then read on.

# %%
predict("tokens-a-second")

# %% [markdown]
# ## A taste
#
# For every single token the waiter must wheel in the whole sack (but for one table, which is only
# looked up). Why every time? The [chef's table] is tiny: next to the cores there is room for a few
# handfuls. What is not on the table must be wheeled in again.
#
# So the chef makes one multiplication and one addition with each weight, and waits. But one trip
# can serve many guests, if they are ready at the same time: a [batch]. Let guests in, and watch
# both bars. At how many do they begin to slow each other down?

# %%
TasteExplorer()

# %%
look_back("tokens-a-second")

# %% [markdown]
# Here are 32 guests. Compare with one guest: what changed for each, and what for all together?

# %%
plots.taste(h100, llama, guests=32)

# %% [markdown]
# Each guest still gets a token every 41 ms, and together they get 32 times as many. The slider
# shows that it holds for 256 guests. At 512 they slow each other down. Where between the two it
# turns is the subject of the next notebook.

# %% [markdown]
# ## The trap to avoid
#
# *The chef is idle, so the reply could come faster.* With one guest the chef rests for more than
# 99% of the time. Let us hire a chef who is twice as fast:

# %%
faster = replace(h100, peaks={"bf16": 2 * h100.peak("bf16")})
step = kl.decode_step(llama, context=0)

print("this chef        ", kl.human(step.time(h100), "s"), "a token")
print("twice as fast one", kl.human(step.time(faster), "s"), "a token")

# %% [markdown]
# Not one moment sooner: the waiter is running all the while. What idle hands can do is serve more
# guests on the same trip. So when someone says *busy*, ask who: the chef or the waiter?

# %% [markdown]
# ## Where the kitchen leaks
#
# An analogy is a tool, and every notebook says where this one breaks. Here already: our sack weighs
# 138 kg, but the warehouse of one H100 holds 86 kg (it is sold as 80 GB, because memory sizes count
# in [GiB][byte]). Imagine a bigger warehouse until notebook 2 puts it right with two chips. And the
# taste above leaves the notepads out: every guest brings one, it grows with each token, and it
# serves no other guest (unless two orders begin alike: a later trick).

# %% [markdown]
# ## A warm-up exercise
#
# Each exercise is a cell with `...` in it. Put your answer there and run the cell: it tells you
# whether you are right, and if not, what may have happened. Nothing is graded.
#
# Llama-2-70B has `llama.params` weights, and each takes two bytes. How many **GB** is that?

# %%
gigabytes = llama.params * 2 / 1e9  # solution
check("sack", gigabytes)

# %% [markdown]
# Stuck? Every exercise is followed by its worked solution. Click on it to open it.

# %%
solution("sack")

# %%
progress()

# %% [markdown]
# ## The map
#
# Each notebook answers one question, and leaves you with the next.

# %%
plots.collection_map()

# %% [markdown]
# Read them in order. Each has the same shape: predict, look, play, a trap, the leaks, exercises.
# Solved copies lie in the folder [solutions](solutions/00_welcome.ipynb). They are better after
# your own attempt.
#
# ## Where to get help
#
# - A word: the [glossary](glossary.ipynb).
# - A function: type its name and a question mark in a cell, as in `kl.decode_step?`.
# - A cell that fails: *Kernel → Restart Kernel and Run All Cells*, then the self-test above.
# - A mistake in these pages: [CONTRIBUTING](../CONTRIBUTING.md) says how to report or mend it.

# %% [markdown]
# ## What you now know
#
# The five roles, and that a trip with the whole sack is the price of every token, for one guest
# or for many.
#
# **What it sets up:** how many guests does it take to keep the chef busy? That is one number per
# chip, and you will work it out in [The ratio](01_ratio.ipynb).
