/** The meanings of the inspector's words, in one sentence each, and the exhibit under /learn that teaches them. */

export interface Term {
  sentence: string;
  exhibit: Exhibit | null;
}

/** The last part of an exhibit's address. */
export type Exhibit =
  | "attention"
  | "batching"
  | "cache"
  | "context"
  | "economics"
  | "gate"
  | "guessing"
  | "loop"
  | "merges"
  | "prefill"
  | "rules"
  | "safety"
  | "sampling"
  | "streaming"
  | "tokenizer";

export const TERMS = {
  token: {
    sentence: "A piece of text the model reads or writes as one: often a word with the space before it.",
    exhibit: "tokenizer",
  },
  window: {
    sentence: "The most tokens the model can look at in one request, prompt and answer together.",
    exhibit: "context",
  },
  promptTokens: {
    sentence: "What the model reads before it writes: system prompt, history and message, as tokens.",
    exhibit: "context",
  },
  cachedTokens: {
    sentence:
      "Tokens of the prompt whose keys and values an earlier request had left, so that nothing was computed.",
    exhibit: "cache",
  },
  savedTime: {
    sentence:
      "What the steps took that read these tokens, each step shared evenly among its tokens. The time of generated tokens is unknown, because no step read them.",
    exhibit: "cache",
  },
  block: {
    sentence:
      "A fixed run of tokens whose keys and values lie together; blocks, not tokens, are kept, shared and evicted.",
    exhibit: "cache",
  },
  owners: {
    sentence:
      "Requests that have the block in their tables at once; a block is free for others when there are none.",
    exhibit: "cache",
  },
  evictionOrder: {
    sentence: "Blocks nobody uses stay until room is needed; then the least recently used goes first.",
    exhibit: "cache",
  },
  timeToLive: {
    sentence: "How long a block is kept after its last use; without one it stays until its room is needed.",
    exhibit: "cache",
  },
  keysAndValues: {
    sentence: "Two lists of numbers per token, layer and head that every later token looks back at.",
    exhibit: "cache",
  },
  groupedQueries: {
    sentence:
      "Several query heads share one key/value head, so that a token needs only a part of the memory.",
    exhibit: "cache",
  },
  step: {
    sentence:
      "One pass of the model for all running requests together: a token for each that writes, and chunks of prompts.",
    exhibit: "batching",
  },
  batch: {
    sentence: "Other requests whose tokens were computed in the same step; who they are is not recorded.",
    exhibit: "batching",
  },
  prefill: {
    sentence: "Reading the prompt, many tokens in one step; it takes computing power, not memory bandwidth.",
    exhibit: "prefill",
  },
  decode: {
    sentence:
      "Writing the answer, one token in one step (more where guesses are accepted); memory bandwidth sets its pace.",
    exhibit: "loop",
  },
  queue: {
    sentence: "Inside a worker's engine: until there is room for one more in its batch, and for its blocks.",
    exhibit: "batching",
  },
  workerQueue: {
    sentence:
      "The queue that all workers share: a request stands in it until one of them is free to take it.",
    exhibit: "batching",
  },
  serverQueue: {
    sentence:
      "From the worker's question until the server elsewhere began to answer; what it did meanwhile it does not tell.",
    exhibit: "batching",
  },
  preemption: {
    sentence:
      "When blocks run out, a running request gives up its own and waits; what it has written is computed again.",
    exhibit: "batching",
  },
  gate: {
    sentence:
      "The gate checks the session and the limits. The prompt may be prepared meanwhile. The model gets nothing before the gate has passed.",
    exhibit: "gate",
  },
  safetyCheck: {
    sentence:
      "A classifier reads the message while the prompt is packed; nothing goes to the model before it has answered.",
    exhibit: "safety",
  },
  draw: {
    sentence:
      "The model gives every token a probability, the sampler cuts and reshapes them, and one random number picks.",
    exhibit: "sampling",
  },
  release: {
    sentence:
      "Text leaves the worker when its characters are whole and the output check has passed it; until then it is held.",
    exhibit: "streaming",
  },
  firstTextSent: {
    sentence:
      "From the request's acceptance until the server let its first text go: the server's part of the wait.",
    exhibit: "streaming",
  },
  firstTextSeen: {
    sentence:
      "From the key press until the first text stood on the screen: network, server and browser together.",
    exhibit: "streaming",
  },
  choice: {
    sentence:
      "In step mode: from each proposed token until one was taken. The engine did nothing meanwhile, so no speed counts it.",
    exhibit: "sampling",
  },
  pressToSend: {
    sentence: "What the page itself did between the key press and handing the request to the network.",
    exhibit: "streaming",
  },
  network: {
    sentence: "On the way between browser and server, told apart by the estimated offset of their clocks.",
    exhibit: "streaming",
  },
  paint: {
    sentence:
      "From leaving the server until it stood on the screen: the network, the page's work and the painting.",
    exhibit: "streaming",
  },
  handOver: {
    sentence: "Through the queue, from the web process to the worker that prepares the prompt.",
    exhibit: null,
  },
  assembly: {
    sentence: "Choosing which messages fit into the window, and putting them into the model's chat form.",
    exhibit: "context",
  },
  outputCheck: {
    sentence: "A classifier reads the answer piece by piece; text waits in the worker until it was read.",
    exhibit: "safety",
  },
  between: {
    sentence: "Time that no event covers: it is measured, and what happened in it is not recorded.",
    exhibit: null,
  },
  firstToken: {
    sentence: "From acceptance until the model drew the first token; nothing of it was on the screen yet.",
    exhibit: "prefill",
  },
  timePerToken: {
    sentence: "From the first token to the last, by the tokens after the first: the mean time between two.",
    exhibit: "batching",
  },
  betweenTokens: {
    sentence:
      "From each token to the next. Tokens that were guessed ahead come at once, with nothing between.",
    exhibit: "batching",
  },
  allIntervals: {
    sentence:
      "From the first to the last moment known; the rows that are not in parallel, and Unexplained, add up to it.",
    exhibit: null,
  },
  safetyScore: {
    sentence:
      "How sure the classifier is, 0 to 1; from the limit (the tick) on, the category's verdict applies.",
    exhibit: "safety",
  },
  checkTime: { sentence: "What the classifier took for this piece of text.", exhibit: "safety" },
  bufferedTime: {
    sentence: "How long the oldest text of this piece waited in the worker before the check had passed it.",
    exhibit: "safety",
  },
  policy: {
    sentence: "The classifier and the thresholds in force then; a later change does not touch this trace.",
    exhibit: "safety",
  },
  layer: {
    sentence: "One of the model's repeated parts: each looks back at all tokens once, then reworks this one.",
    exhibit: "attention",
  },
  layerGuess: {
    sentence: "The token the model would say if it stopped after this layer (the logit lens).",
    exhibit: "attention",
  },
  neighbours: {
    sentence:
      "Tokens whose learnt vectors point the same way: cosine 1 is the same direction, 0 none in common.",
    exhibit: "attention",
  },
  origin: {
    sentence: "Whether the block was found in the cache, or computed for this request.",
    exhibit: "cache",
  },
  storedBlock: {
    sentence: "A full block stays findable for later requests that begin with the same tokens.",
    exhibit: "cache",
  },
  price: { sentence: "What one token of the kind cost, by the prices in force then.", exhibit: "economics" },
  acceptedGuesses: {
    sentence:
      "Guesses that the model itself drew too; from the first that it did not, all later ones are dropped.",
    exhibit: "guessing",
  },
  bill: {
    sentence: "Tokens of each kind times their price; tokens from the cache cost less than computed ones.",
    exhibit: "economics",
  },
  reserved: {
    sentence:
      "Kept free in the window for the answer; what does not fit beside it is left out, oldest turns first.",
    exhibit: "context",
  },
  turnBefore: {
    sentence: "The newest request of the same conversation that had ended when this one was sent.",
    exhibit: "context",
  },
  utf8: {
    sentence: "Text travels as UTF-8: one to four bytes a character; a token may hold a part of one.",
    exhibit: "streaming",
  },
  bufferedBytes: {
    sentence: "Bytes of a character that is not whole yet: nobody can show half a character, so they wait.",
    exhibit: "streaming",
  },
  frame: {
    sentence: "What travels at once: the events of one append to the request's log.",
    exhibit: "streaming",
  },
  httpVersion: {
    sentence:
      "The protocol of the connection; a proxy in between may speak one to the page and another to the server.",
    exhibit: "streaming",
  },
  connection: {
    sentence: "What opening the connection took; a connection that was open already takes none.",
    exhibit: "streaming",
  },
  clockOffset: {
    sentence:
      "How far the server's clock is ahead of the page's. It lies within the bound: nothing arrives before it was sent.",
    exhibit: "streaming",
  },
  serverTiming: {
    sentence:
      "A header in which the server tells how long each part of its answer took; DevTools shows it too.",
    exhibit: "streaming",
  },
  authInterval: {
    sentence: "From the request's arrival until the server knew who asks.",
    exhibit: "gate",
  },
  validateInterval: {
    sentence: "Reading the body, finding the conversation and checking the settings.",
    exhibit: "gate",
  },
  startInterval: {
    sentence: "Taking a place among the open requests, writing the rows, and handing the work to the queue.",
    exhibit: "gate",
  },
  guess: {
    sentence:
      "Tokens proposed by something quicker than the model, which checks several of them in one pass.",
    exhibit: "guessing",
  },
  guessTime: {
    sentence: "The tokens of all checks at the pace of a plain step, less what the checks' own passes took.",
    exhibit: "guessing",
  },
  grammar: {
    sentence:
      "A form the answer must keep to; tokens that cannot continue a valid text are removed before the draw.",
    exhibit: "sampling",
  },
  maskTime: {
    sentence: "What working out the allowed tokens took, beside the model's own time.",
    exhibit: "sampling",
  },
  surprise: {
    sentence:
      "Minus the logarithm of the probability that the model gave the token: 0 bits when it was sure.",
    exhibit: "sampling",
  },
  entropy: {
    sentence:
      "How spread out the model's own probabilities were before the draw: 0 bits when one token had them all.",
    exhibit: "sampling",
  },
  candidate: {
    sentence:
      "One of the tokens that the model thought likeliest here; the others are recorded only together.",
    exhibit: "sampling",
  },
  logit: {
    sentence:
      "The number that the model gives a token; one more means e (2.7) times the probability, before any setting.",
    exhibit: "sampling",
  },
  logProbability: {
    sentence:
      "The logarithm of the probability that the server reported: 0 is certain, each −1 is 2.7 times less.",
    exhibit: "sampling",
  },
  modelProbability: {
    sentence: "What the model itself gave the token, before grammar, penalties, temperature and cuts.",
    exhibit: "sampling",
  },
  rank: {
    sentence: "How many tokens of the vocabulary the model thought at least as likely: 1 is the likeliest.",
    exhibit: "sampling",
  },
  logitBias: {
    sentence: "What the request itself adds to the logits of certain tokens, to make them likelier or rarer.",
    exhibit: "sampling",
  },
  bannedTokens: {
    sentence: "Tokens that the request, or the beginning of its answer, does not allow here.",
    exhibit: "sampling",
  },
  penalties: {
    sentence:
      "Tokens that the answer or the prompt has already lose some of their logit, so that it repeats less.",
    exhibit: "sampling",
  },
  dry: {
    sentence:
      "DRY lowers the logit of a token that would extend a repeated sequence. A longer sequence lowers it more.",
    exhibit: "sampling",
  },
  temperature: {
    sentence:
      "Logits are divided by it: below 1 the likeliest get more of the probability, above 1 the others do.",
    exhibit: "sampling",
  },
  topK: { sentence: "Only so many of the likeliest tokens stay.", exhibit: "sampling" },
  topP: {
    sentence: "Only the likeliest tokens stay that together reach this share of the probability.",
    exhibit: "sampling",
  },
  minP: {
    sentence: "Only tokens stay that have at least this share of the likeliest one's probability.",
    exhibit: "sampling",
  },
  typicalP: {
    sentence:
      "Only tokens stay whose surprise is near the expected one, until together they reach this share.",
    exhibit: "sampling",
  },
  tool: {
    sentence: "A function the model may ask for in its answer; what it gives is put into the next prompt.",
    exhibit: "context",
  },
  requestLimit: { sentence: "How many requests one user or key may begin in a minute.", exhibit: "gate" },
  tokenLimit: {
    sentence: "How many tokens one user or key may have read or written in a minute.",
    exhibit: "gate",
  },
  concurrency: {
    sentence: "How many requests one user may have open at once; an ended one makes room.",
    exhibit: "gate",
  },
  refill: {
    sentence:
      "A bucket is drained by what a request takes and fills again: at a fixed rate, or when requests end.",
    exhibit: "gate",
  },
  budget: { sentence: "How much may be spent until it is set anew.", exhibit: "economics" },
  messageLimit: { sentence: "The longest message that is accepted, in bytes of UTF-8.", exhibit: "gate" },
  inputPrice: {
    sentence: "Prompt tokens that were computed for this request, each at the full price.",
    exhibit: "economics",
  },
  cacheReadPrice: {
    sentence:
      "Prompt tokens whose keys and values were taken from the cache: nothing was computed, so they cost less.",
    exhibit: "economics",
  },
  cacheWritePrice: {
    sentence:
      "Prompt tokens kept in the cache for a promised time at the client's wish; keeping without promise is free.",
    exhibit: "economics",
  },
  outputPrice: {
    sentence:
      "Tokens written, the one that ends the turn included; each takes a step of its own, so they cost most.",
    exhibit: "economics",
  },
  priceVersion: {
    sentence:
      "The row of the price table that was in force when the bill was posted; a later change does not touch it.",
    exhibit: "economics",
  },
} as const satisfies Record<string, Term>;

export type TermId = keyof typeof TERMS;
