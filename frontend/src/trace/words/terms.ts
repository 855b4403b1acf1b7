/** The meanings of the inspector's words, in one or two sentences each, and the exhibit under /learn that teaches them. */

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
  | "gateway"
  | "guessing"
  | "injection"
  | "loop"
  | "merges"
  | "prefill"
  | "retrieval"
  | "rules"
  | "safety"
  | "sampling"
  | "streaming"
  | "tokenizer"
  | "tools";

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
    sentence: "The tokens that the model reads before it writes: system prompt, history and message.",
    exhibit: "context",
  },
  fileBudget: {
    sentence:
      "The share of the window that all attached files may have together: a quarter. A short file goes in whole; long ones share the rest.",
    exhibit: "context",
  },
  similarity: {
    sentence:
      "The cosine of the angle between two embeddings: 1 means the same direction, 0 means nothing in common. Texts of like meaning have like embeddings.",
    exhibit: "retrieval",
  },
  cachedTokens: {
    sentence:
      "Prompt tokens whose keys and values an earlier request left in the cache. The model did not compute them again.",
    exhibit: "cache",
  },
  savedTime: {
    sentence:
      "The time of the steps that first read these tokens, each step shared evenly among its tokens. No step read generated tokens, so their time is unknown.",
    exhibit: "cache",
  },
  block: {
    sentence:
      "A fixed number of tokens in a row whose keys and values lie together. The cache keeps, shares and evicts whole blocks.",
    exhibit: "cache",
  },
  owners: {
    sentence: "Requests that use the block at this moment. Only a block that no request uses may be evicted.",
    exhibit: "cache",
  },
  evictionOrder: {
    sentence:
      "Blocks that no request uses stay until the cache needs room. Then the least recently used goes first.",
    exhibit: "cache",
  },
  timeToLive: {
    sentence:
      "The time that the cache keeps a block after its last use. Without one, the block stays until the cache needs room.",
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
    sentence:
      "Other requests whose tokens the same step computed. The trace does not record which requests they are.",
    exhibit: "batching",
  },
  embedding: {
    sentence:
      "Numbers that place a text among others: the mean over its tokens, of length one. Texts of like meaning lie close.",
    exhibit: null,
  },
  embeddingModel: {
    sentence: "The model that made the vectors, and the version of the package with its weights.",
    exhibit: null,
  },
  embeddingTime: {
    sentence: "The time in which the model computed this call's vectors, on one thread of the web process.",
    exhibit: null,
  },
  embeddingWait: {
    sentence:
      "One thread computes all calls, eight texts at a time. This is the wait for its turns, with the handing over.",
    exhibit: null,
  },
  device: {
    sentence: "The processor that computed the vectors.",
    exhibit: null,
  },
  prefill: {
    sentence:
      "The model reads the prompt, many tokens in one step. Computing power sets its pace, not memory bandwidth.",
    exhibit: "prefill",
  },
  decode: {
    sentence:
      "The model writes the answer, one token in a step (more where guesses are accepted). Memory bandwidth sets its pace.",
    exhibit: "loop",
  },
  queue: {
    sentence: "The wait inside a worker's engine until the batch and the memory have room for this request.",
    exhibit: "batching",
  },
  workerQueue: {
    sentence: "All workers share this queue. A request waits in it until a worker is free.",
    exhibit: "batching",
  },
  takeOver: {
    sentence:
      "The worker ended before the answer did. Another one read prompt and answer again, and went on after the last token.",
    exhibit: null,
  },
  serverQueue: {
    sentence:
      "From the worker's request until the server behind this model began to answer. That server reports nothing of this time.",
    exhibit: "batching",
  },
  preemption: {
    sentence:
      "When blocks run out, a running request gives up its blocks and waits. The engine then computes its tokens again.",
    exhibit: "batching",
  },
  gateway: {
    sentence:
      "The gateway checks the session and the limits. The prompt may be prepared meanwhile. The model gets nothing before the gateway has passed.",
    exhibit: "gateway",
  },
  safetyCheck: {
    sentence:
      "A classifier reads the message while the server packs the prompt. The model gets nothing before the classifier has answered.",
    exhibit: "safety",
  },
  draw: {
    sentence:
      "The model gives every token a probability. The sampler cuts and reshapes these, and one random number picks a token.",
    exhibit: "sampling",
  },
  release: {
    sentence:
      "Text leaves the worker when its characters are whole and the output check has allowed it. The worker holds it until then.",
    exhibit: "streaming",
  },
  firstTextSent: {
    sentence: "The server's part of the wait: from accepting the request until it sent the first text.",
    exhibit: "streaming",
  },
  firstTextSeen: {
    sentence:
      "The whole wait, from the key press until the first text was on the screen: network, server and browser together.",
    exhibit: "streaming",
  },
  choice: {
    sentence:
      "Step mode only: the time from each proposed token until you chose one. The engine paused, so no speed counts it.",
    exhibit: "sampling",
  },
  pressToSend: {
    sentence: "The page's own work between the key press and handing the request to the network.",
    exhibit: "streaming",
  },
  network: {
    sentence: "The way between browser and server, measured with the estimated offset of their clocks.",
    exhibit: "streaming",
  },
  paint: {
    sentence: "From the server to the screen: the network, the page's work and the painting.",
    exhibit: "streaming",
  },
  handOver: {
    sentence:
      "The request's way through a queue, from the web process to the worker that prepares the prompt.",
    exhibit: null,
  },
  assembly: {
    sentence:
      "The server chooses the messages that fit into the window, and puts them into the model's chat format.",
    exhibit: "context",
  },
  outputCheck: {
    sentence:
      "A classifier reads the answer piece by piece. Text waits in the worker until the classifier has read it.",
    exhibit: "safety",
  },
  between: {
    sentence:
      "Time that no event covers. Its length is known, but the trace does not record what happened in it.",
    exhibit: null,
  },
  firstToken: {
    sentence: "From acceptance until the model drew the first token. The screen did not show it yet.",
    exhibit: "prefill",
  },
  timePerToken: {
    sentence: "The mean time between two tokens, from the first token to the last.",
    exhibit: "batching",
  },
  betweenTokens: {
    sentence:
      "The time from each token to the next. Tokens that were guessed ahead come together, with no time between.",
    exhibit: "batching",
  },
  allIntervals: {
    sentence:
      "From the first known moment to the last. The rows that are not in parallel, and Not measured, add up to it.",
    exhibit: null,
  },
  safetyScore: {
    sentence:
      "The classifier's certainty, from 0 to 1. From the limit (the tick) on, the category's verdict applies.",
    exhibit: "safety",
  },
  checkTime: { sentence: "The time that the classifier took for this piece of text.", exhibit: "safety" },
  bufferedTime: {
    sentence: "The time that the oldest text of this piece waited in the worker until the check allowed it.",
    exhibit: "safety",
  },
  policy: {
    sentence: "The classifier and the thresholds at that time. A later change does not alter this trace.",
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
      "Tokens whose learnt vectors point in similar directions. Cosine 1 is the same direction, 0 has nothing in common.",
    exhibit: "attention",
  },
  origin: {
    sentence: "The source of the block: found in the cache, or computed for this request.",
    exhibit: "cache",
  },
  storedBlock: {
    sentence: "A full block stays findable for later requests that begin with the same tokens.",
    exhibit: "cache",
  },
  price: { sentence: "The price of one token of this kind at that time.", exhibit: "economics" },
  acceptedGuesses: {
    sentence:
      "Guesses that the model then drew itself. The first wrong guess and all later ones are dropped.",
    exhibit: "guessing",
  },
  bill: {
    sentence: "Tokens of each kind times their price; tokens from the cache cost less than computed ones.",
    exhibit: "economics",
  },
  reserved: {
    sentence:
      "Room in the window kept free for the answer. Turns that do not fit beside it are left out, oldest first.",
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
    sentence:
      "Bytes of a character that is not whole yet. A screen cannot show half a character, so they wait.",
    exhibit: "streaming",
  },
  frame: {
    sentence: "The unit that travels over the network: the events of one append to the request's log.",
    exhibit: "streaming",
  },
  httpVersion: {
    sentence:
      "The protocol of the connection. A proxy in between may use one to the page and another to the server.",
    exhibit: "streaming",
  },
  connection: {
    sentence: "The time to open the connection. A connection that is already open takes none.",
    exhibit: "streaming",
  },
  clockOffset: {
    sentence:
      "The server's clock minus the page's clock. The bound is certain: nothing arrives before it was sent.",
    exhibit: "streaming",
  },
  serverTiming: {
    sentence:
      "A header in which the server tells how long each part of its answer took; DevTools shows it too.",
    exhibit: "streaming",
  },
  authInterval: {
    sentence: "From the request's arrival until the server knew its user.",
    exhibit: "gateway",
  },
  validateInterval: {
    sentence: "Reading the body, finding the conversation and checking the settings.",
    exhibit: "gateway",
  },
  startInterval: {
    sentence: "Taking a place among the open requests, writing the rows, and handing the work to the queue.",
    exhibit: "gateway",
  },
  guess: {
    sentence:
      "Tokens proposed by something quicker than the model, which checks several of them in one pass.",
    exhibit: "guessing",
  },
  guessTime: {
    sentence:
      "The time that plain steps would take for these tokens, less the time of the passes that checked them.",
    exhibit: "guessing",
  },
  grammar: {
    sentence:
      "A form that the answer must keep to. Tokens that cannot continue a valid text are removed before the draw.",
    exhibit: "sampling",
  },
  maskTime: {
    sentence: "The time to work out the allowed tokens, in addition to the model's own time.",
    exhibit: "sampling",
  },
  surprise: {
    sentence:
      "Minus the logarithm of the probability that the model gave the token: 0 bits when it was sure.",
    exhibit: "sampling",
  },
  entropy: {
    sentence:
      "The spread of the model's own probabilities before the draw: 0 bits when one token had all of it.",
    exhibit: "sampling",
  },
  candidate: {
    sentence:
      "One of the tokens that the model found likeliest here. The trace records all others only as a sum.",
    exhibit: "sampling",
  },
  logit: {
    sentence:
      "The number that the model gives a token, before any setting. One more means e (2.7) times the probability.",
    exhibit: "sampling",
  },
  logProbability: {
    sentence:
      "The logarithm of the probability that the server reported: 0 is certain, each −1 is 2.7 times less.",
    exhibit: "sampling",
  },
  modelProbability: {
    sentence:
      "The probability that the model itself gave the token, before grammar, penalties, temperature and cuts.",
    exhibit: "sampling",
  },
  rank: {
    sentence: "The token's place among all tokens, by the model's own probability: 1 is the likeliest.",
    exhibit: "sampling",
  },
  logitBias: {
    sentence:
      "Numbers that the request adds to the logits of certain tokens, to make them likelier or rarer.",
    exhibit: "sampling",
  },
  bannedTokens: {
    sentence: "Tokens that the request, or the beginning of its answer, does not allow here.",
    exhibit: "sampling",
  },
  penalties: {
    sentence:
      "Penalties lower the logit of tokens that the prompt or the answer already has, so that it repeats less.",
    exhibit: "sampling",
  },
  dry: {
    sentence:
      "DRY lowers the logit of a token that would extend a repeated sequence. A longer sequence lowers it more.",
    exhibit: "sampling",
  },
  temperature: {
    sentence:
      "The sampler divides the logits by it. Below 1 the likeliest tokens gain probability, above 1 the others do.",
    exhibit: "sampling",
  },
  topK: { sentence: "Only this many of the likeliest tokens stay.", exhibit: "sampling" },
  topP: {
    sentence: "Only the likeliest tokens stay that together reach this share of the probability.",
    exhibit: "sampling",
  },
  minP: {
    sentence: "Only tokens stay that have at least this share of the likeliest one's probability.",
    exhibit: "sampling",
  },
  thinkingEnd: {
    sentence:
      "The thinking's budget was spent, or the user wanted the answer: only the tag that ends the thinking is left.",
    exhibit: "sampling",
  },
  typicalP: {
    sentence:
      "Only tokens stay whose surprise is near the expected one, until together they reach this share.",
    exhibit: "sampling",
  },
  tool: {
    sentence: "A function that the model may ask for in its answer. Its result goes into the next prompt.",
    exhibit: "tools",
  },
  requestLimit: {
    sentence:
      "The number of requests that a user, a key, a group, a model or the site may begin in a minute.",
    exhibit: "gateway",
  },
  tokenLimit: {
    sentence:
      "The number of tokens that may be read or written in a minute. A request reserves what it may use, and gives the rest back.",
    exhibit: "gateway",
  },
  concurrency: {
    sentence: "The number of requests that one user may have open at once. A request that ends makes room.",
    exhibit: "gateway",
  },
  refill: {
    sentence: "Each request takes from the bucket. It fills again at a fixed rate, or when requests end.",
    exhibit: "gateway",
  },
  budget: {
    sentence:
      "The amount that may be spent on one day or in one month of UTC. Open requests reserve the most that they may cost.",
    exhibit: "economics",
  },
  messageLimit: { sentence: "The longest message that is accepted, in bytes of UTF-8.", exhibit: "gateway" },
  inputPrice: {
    sentence: "Prompt tokens that were computed for this request, each at the full price.",
    exhibit: "economics",
  },
  cacheReadPrice: {
    sentence:
      "Prompt tokens whose keys and values came from the cache. The model did not compute them, so they cost less.",
    exhibit: "economics",
  },
  cacheWritePrice: {
    sentence:
      "Prompt tokens that the cache keeps for a promised time, as the client asked. Keeping without a promise is free.",
    exhibit: "economics",
  },
  outputPrice: {
    sentence:
      "Tokens written, with the one that ends the turn. Each takes a step of its own, so they cost most.",
    exhibit: "economics",
  },
  priceVersion: {
    sentence:
      "The row of the price table in force when the bill was posted. A later change does not alter it.",
    exhibit: "economics",
  },
} as const satisfies Record<string, Term>;

export type TermId = keyof typeof TERMS;
