# %% [markdown]
# # Glossary
#
# Every term and acronym of the collection, in one place. The notebooks link here where a term
# first appears. Kitchen names come first, then the field's own words.

# %% [markdown]
# ## The kitchen
#
# The story that the notebooks tell. Each name stands for one piece of hardware or data.
#
# ### Sack
# The model's [weights][weight], stored in the warehouse. One kilogram of sack is one gigabyte.
#
# ### Warehouse
# The chip's memory, where sacks and notepads lie.
#
# ### Chef's table
# The small fast memories beside the cores, called caches. What lies there need not be carried again.
#
# ### Crumb
# One [byte]. A kilogram of sack is a billion crumbs.
#
# ### Guest
# One conversation. Guests served together form a [batch].
#
# ### Order ticket
# The guest's [prompt].
#
# ### Notepad
# The [KV cache]: what the kitchen remembers of one guest's conversation.
#
# ### Waiter
# The memory bus. Carries sacks and notepads to the chef; the walking speed is the [bandwidth].
#
# ### Chef
# The compute cores. Cuts the ingredients; the cutting speed is the [peak].
#
# ### Pass
# One trip of the whole sack past the chef, for every token that is ready: a forward pass.
#
# ### Cut
# One arithmetic operation, one [FLOP].

# %% [markdown]
# ## Words and numbers that go in
#
# ### Token
# A word or a piece of a word. A model reads and writes tokens. Inside the model each token is a
# row of numbers.
#
# ### Prompt
# The tokens you send: question, instructions, documents.
#
# ### Context
# The tokens already in the [KV cache]: everything said so far.
#
# ### Batch
# The sequences (guests) that share one pass of the model.
#
# ### Weight
# One of the model's learned numbers, also called a parameter.
#
# ### Layer
# One of the equal steps that every token goes through. In most models of today a layer is
# attention followed by a feed-forward part.
#
# ### LLM
# Large language model: a program that continues a text, one [token] at a time, by way of billions of
# [weights][weight].
#
# ### Matrix
# A table of numbers. A model's [weights][weight] stand in matrices.
#
# ### Attention
# The part of a layer that looks back at earlier tokens, by way of the [notepad].
#
# ### Feed-forward
# The part of a layer that works on each token alone.
#
# ### Query
# The row of numbers with which a token looks for what it needs among earlier tokens.
#
# ### Key and value
# Two rows of numbers that each token leaves in every layer, for attention to look at. KV for short.
#
# ### Embedding
# The table that turns each token into its row of numbers. Looked up, not multiplied.
#
# ### LM head
# Language-model head, the last matrix. It turns a row of numbers into one score for each token of the vocabulary.
#
# ### Query head
# A slice of attention that looks at the earlier tokens in its own way.
#
# ### KV head
# A set of stored keys and values that one or more [query heads][query head] look at.
#
# ### GQA
# Grouped-query attention: several [query heads][query head] share one [KV head], so the
# [KV cache] is smaller.
#
# ### MoE
# Mixture of experts: many feed-forward parts per layer, of which each token visits a few.

# %% [markdown]
# ## Work and speed
#
# ### Byte
# Eight bits. We count in decimal: 1 GB is a billion bytes. One GiB is 2³⁰ bytes, and is used here
# only for memory capacity.
#
# ### FLOP
# One floating-point operation. A multiply-add counts as two.
#
# ### FLOP/s
# FLOPs per second, a rate. A TFLOP/s is a trillion of them per second.
#
# ### Matrix product
# Rows of numbers times a matrix of weights: every weight is multiplied once for each row.
#
# ### Bandwidth
# Bytes per second between a chip's memory and its cores.
#
# ### Peak
# The FLOP/s of a data sheet, if nothing ever waits. We use dense peaks.
#
# ### Dense peak
# The [peak] for ordinary matrices. A sparse peak, often printed larger on a data sheet, counts
# products with zeros that are skipped.
#
# ### Arithmetic intensity
# FLOPs done for each byte moved, in FLOP per byte.
#
# ### Ridge point
# The [arithmetic intensity] at which a chip's cores and its memory are equally busy: [peak]
# divided by [bandwidth].
#
# ### Roofline
# The plot of attainable FLOP/s over [arithmetic intensity]: a slope (memory) that meets a ceiling
# (compute) at the [ridge point].
#
# ### Memory-bound
# Left of the ridge: the time goes into moving bytes.
#
# ### Compute-bound
# Right of the ridge: the time goes into arithmetic.
#
# ### Floor
# The time of a pass if everything overlapped perfectly: nothing that fetches it all is faster.
#
# ### Utilization
# The share of the time in which the cores calculate.
#
# ### Matmul ceiling
# The largest share of a chip's [peak] that anyone has measured on a real [matrix product].
#
# ### Tensor parallel
# Several chips work as one: each keeps a slice of every matrix, and they exchange results.
#
# ### Interconnect
# The links between chips that share one model.

# %% [markdown]
# ## Serving a model
#
# ### Inference
# Using a trained model, as opposed to training it.
#
# ### Prefill
# Reading the [prompt]: all its tokens go through the model in one pass.
#
# ### Decode
# Writing the reply: one [token] for each guest and [pass].
#
# ### KV cache
# Keys and values of all earlier tokens, kept so that they need not be computed again.
#
# ### TTFT
# Time to first token: how long you wait before the reply starts.
#
# ### TPOT
# Time per output token after the first: the pace of the reply.
#
# ### Chip-hour
# One chip, rented for one hour: what a kitchen is paid by, whether it works or waits.
#
# ### Occupancy
# The share of the rented time in which there are guests.
#
# ### Price sheet
# A provider's list: dollars for a million tokens read (input), and for a million written (output).
#
# ### Cached input
# [Tokens][token] of the prompt whose [keys and values][key and value] are still there from an earlier
# request that began alike.
#
# ### Reasoning token
# A token that a model writes for itself before it replies. You rarely see it, and pay for it as output.
#
# ### Break-even
# The number of requests from which renting costs no more than a [price sheet].
#
# ### Efficiency
# How far a real system stays from the law: the share of the [peak] and of the [bandwidth] that it
# reaches, and the time that each [pass] takes on top.
#
# ### Joule
# A unit of energy: one watt for one second. A kilowatt-hour is 3.6 million of them.
#
# ### Quantization
# Storing weights in fewer bits, groups of them sharing a scale.
#
# ### Scale
# A number that a group of quantized weights shares: each is multiplied by it when it is used.
#
# ### Speculative decoding
# Guessing a few tokens cheaply, then checking them all in one pass.
#
# ### Acceptance
# The chance that a guessed token is what the model would have written, if those before it were.
#
# ### Perplexity
# Among how many equally likely tokens a model seems to choose when it reads a text: the lower, the better it
# knows what comes. 1 would be certainty.
#
# ### bf16
# A 16-bit number format, two bytes for each weight. The usual format of a published model.
#
# ### fp8
# An 8-bit number format, one byte for each weight.
#
# ### INT4
# Weights in four bits, and a little more for the scales.
#
# ### CI
# Continuous integration: a server that runs all tests at every change.

# %% [markdown]
# ## Modern systems
#
# ### State-space model
# A model whose layers keep a state of fixed size for each guest, instead of notes that grow. SSM for
# short.
#
# ### Stock
# The kitchen's name for the state of a [state-space model]: all that was said, boiled down.
#
# ### Mamba
# The best known family of [state-space models][state-space model]. What goes into the state, and what is let go, is
# decided at each token anew: it is selective.
#
# ### Hybrid
# A model of both kinds of layers: most with a [stock], a few with [attention] and notes.
#
# ### RAG
# Retrieval-augmented generation: look for the documents that fit a question, and put only those into the
# [prompt].
#
# ### Vector
# A row of numbers. One that stands for a text is so made that texts about the same thing point the same
# way.
#
# ### Cosine
# How much two [vectors][vector] point the same way: 1 for the same direction, 0 for nothing in common.
#
# ### Inverted file
# An index for [vectors][vector]: they are sorted into lists of neighbours beforehand, and a question looks
# through the nearest lists only.
#
# ### Recall
# The share of what should be found that is found.
#
# ### Router
# The small [matrix] of an [MoE] layer that picks the experts for each token.
#
# ### Expert
# One of the [feed-forward] parts of an [MoE] layer.
#
# ### Patch
# A small square of a picture, which becomes a row of numbers as a word does.
#
# ### Encoder
# A model in front of the language model that turns pictures or sound into rows of numbers.
#
# ### Scratchpad
# The kitchen's name for what a model writes for itself before it replies: [reasoning tokens][reasoning
# token], also called a chain of thought.
#
# ### Tool call
# A line that a model writes and a program carries out, which writes the result back into the [prompt].
#
# ### ReAct
# Reason and act: a model that thinks, calls a tool, reads what came of it, and goes on, in a loop.
#
# ### Prefix caching
# Keeping the [keys and values][key and value] of a beginning that many prompts share, so that only what is
# new is read.
#
# ### Sliding window
# [Attention] that looks back at the last tokens only, a thousand or four, and forgets the notes before.
#
# ### MLA
# Multi-head latent attention: each token leaves one short row of numbers in every layer, from which all
# [KV heads][KV head] are made again when they are needed.

# %% [markdown]
# ## Chips
#
# ### GPU
# Graphics processing unit: the kind of chip that runs most language models.
#
# ### H100
# A data-centre [GPU] by NVIDIA. The collection's worked example uses its SXM version.
#
# ### SXM
# A build of NVIDIA's data-centre chips, soldered for servers: more power and faster memory than the
# PCIe build, which is a card to plug in.
#
# ### HBM
# High-bandwidth memory: memory stacked beside the cores. A data-centre chip's warehouse.
