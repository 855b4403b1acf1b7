/** The native JSON API. */
import type {
  ClientTiming,
  ContextCompared,
  GuessRequest,
  LoopRequest,
  NearnessRequest,
  OrderRequest,
  ProbeAttended,
  ProbeCompared,
  ProbeLensed,
  ProbeMeasured,
  BillLine,
  ReadingRequest,
  RequestObserved,
  SafetyChecked,
  SamplingParams,
  Segment,
  ServerInterval,
  Simulation,
  SimulationRequest,
  Usage,
} from "../protocol/events";
import { serverTiming } from "./server-timing";

export interface Problem {
  message: string;
  field?: string;
}

export interface ApiProblem extends Problem {
  code: string;
  /** All that is wrong, the first included; none: that is all. */
  problems?: Problem[];
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: ApiProblem,
  ) {
    super(problem.message);
  }
}

export interface Model {
  id: string;
  name: string;
  window: number | null;
  tokenizer_url: string;
  is_ready: boolean;
  /** The settings of a new conversation, and of a reset. */
  default_params: SamplingParams;
  default_system_prompt: string;
  /** Null: not known. */
  num_params: number | null;
}

export interface WorkerStatus {
  state: "loading" | "ready" | "failed";
  progress: string;
  message: string;
  model: string;
}

export interface Session {
  user: { id: number; name: string; is_staff: boolean };
  models: Model[];
  default_model: string;
  limits: { message_bytes: number; num_answers: number };
  /** True when the operator has set an address for exported traces. */
  has_otlp_endpoint: boolean;
  workers: WorkerStatus[];
  version: string;
}

export interface LedgerEntry {
  total_nano: number;
  currency: string;
  price_version: string;
  lines: BillLine[];
  posted_at: string;
}

export interface RequestError {
  stage: string;
  code: string;
  message: string;
}

/** The figures kept with an answer, apart from its trace. */
export interface Figures {
  usage: Usage | null;
  cost_nano: number | null;
  currency: string;
  finish_reason: string | null;
  /** Most tokens that the request allowed. */
  max_tokens: number | null;
  /** When the first text was released, µs since acceptance. */
  first_text_us: number | null;
}

export interface Message {
  id: string;
  parent_id: string | null;
  role: "user" | "assistant";
  text: string;
  /** Under which it was posted; null: under none, or that is not known any more. */
  key: string | null;
  created_at: string;
  request_id: string | null;
  /** It was said elsewhere and has no request. */
  is_imported: boolean;
  /** The model that answered; null: a question, or not known. */
  model: string | null;
  status: "streaming" | "done" | "stopped" | "withheld" | "blocked" | "failed" | null;
  error: RequestError | null;
  /** Null until the request is settled. */
  figures: Figures | null;
  /** The request whose answer it goes on from; null also when that was deleted. */
  forked_from: string | null;
  /** Tokens of that answer's own that it kept; null: it is no fork. */
  fork_position: number | null;
  /** Tokens that it began with, those chosen or written included. */
  num_kept: number | null;
}

export interface ConversationSummary {
  id: string;
  title: string;
  updated_at: string;
  is_pinned: boolean;
  /** True when an answer is being written in it. */
  is_streaming: boolean;
}

/** The parts of an answer's prompt, in tokens. */
export interface ContextParts {
  window: number;
  num_prompt_tokens: number;
  kinds: Partial<Record<Segment["kind"], number>>;
  /** Messages that did not fit. */
  num_dropped: number;
  num_dropped_tokens: number;
}

export interface Costs {
  usage: Usage | null;
  /** Null: not known, as where no price was in force. */
  cost_nano: number | null;
  currency: string | null;
}

/** One answer of a conversation; without a request nothing is known of it. */
export interface Turn extends Costs {
  message_id: string;
  request_id: string | null;
  is_imported: boolean;
  question: string;
  created_at: string;
  model: string | null;
  status: RequestSummary["status"] | null;
  /** Null also for a request of before this was recorded. */
  context: ContextParts | null;
  first_text_us: number | null;
  /** In step mode with the time that a person took to choose. */
  duration_us: number | null;
  /** False: the server elsewhere did not report its cache, and `usage` counts all as computed. */
  is_cache_known?: boolean;
}

export interface Turns {
  id: string;
  title: string;
  turns: Turn[];
  /** Answers beside those that are shown. */
  others: Costs[];
}

/** The result of importing a file of conversations. */
export interface ImportReport {
  sources: string[];
  num_conversations: number;
  num_messages: number;
  /** They were here already. */
  num_known: number;
  num_skipped: number;
  /** The first of them. */
  conversations: { id: string; title: string }[];
  skipped: { place: string; title: string; message: string }[];
}

export interface Conversation extends Omit<ConversationSummary, "is_streaming"> {
  model: string;
  system_prompt: string;
  params: SamplingParams;
  /** Answers to each message. */
  n: number;
  leaf_id: string;
  created_at: string;
  messages: Message[];
}

export interface RequestSummary {
  id: string;
  status: "queued" | "running" | "done" | "stopped" | "withheld" | "blocked" | "failed";
  surface: string;
  model: string;
  title: string;
  created_at: string;
  conversation_id: string | null;
  message_id: string | null;
  usage: Usage | null;
  cost_nano: number | null;
  currency: string;
  finish_reason: string | null;
  error: RequestError | null;
  num_events: number;
  duration_us: number | null;
  first_text_us: number | null;
  /** Null: no check is recorded. */
  safety: { verdict: string; layers: Record<string, string> } | null;
  is_imported: boolean;
  /** Time of its import; `created_at` is that of its making. Null: it was made here. */
  imported_at: string | null;
  /** The set of runs that it belongs to. */
  rerun_id?: string | null;
  /** Its index among the answers to one message, from 0, and their number. */
  answer?: { index: number; num: number } | null;
  /** Its index among its set's runs, from 0, their number, and the values that the set's grid gave it. */
  run?: { index: number; num: number; settings: Partial<Record<keyof SamplingParams, number>> } | null;
  /** Null: not known, as of an imported trace. */
  seed?: number | null;
  forked_from: string | null;
  fork_position: number | null;
  num_kept: number | null;
}

/** The plan for new runs of a saved request: the values of each setting, and the runs of each combination. */
export interface RerunPlan {
  n: number;
  seeds: "same" | "fresh";
  grid: Partial<Record<keyof SamplingParams, number[]>>;
}

export interface RerunHead extends RerunPlan {
  id: string;
  created_at: string;
  state: "running" | "stopping" | "stopped" | "done";
  num_runs: number;
}

export interface Run {
  index: number;
  /** The values that the grid sets for it. */
  settings: Partial<Record<keyof SamplingParams, number>>;
  seed: number | null;
  state: "waiting" | "running" | "done" | "stopped" | "withheld" | "blocked" | "failed";
  num_tries: number;
  request: RequestSummary | null;
}

export interface RerunSet extends RerunHead {
  /** Null: the saved request is gone. */
  request_id: string | null;
  title: string;
  model: string;
  params: SamplingParams;
  prompt: {
    num_tokens: number;
    num_tokens_now: number | null;
    first_difference: number | null;
    is_tokenizer_changed: boolean;
  };
  runs: Run[];
}

/** A fork's place in an answer: after a number of tokens, perhaps with a chosen one; or its new beginning. */
export type ForkPlace = ({ position: number; token_id?: number } | { text: string }) & {
  /** None: the parent's own. */
  params?: SamplingParams;
};

/** Settings that a user keeps under a name. */
export interface Preset extends Asking {
  id: number;
  name: string;
  system_prompt: string;
}

/** The owner's marks on a saved trace. */
export interface Marks {
  is_pinned: boolean;
  note: string;
  tags: string[];
}

/** A row of the library; without marks while there is no trace yet. */
export interface ListedTrace extends RequestSummary {
  marks: Marks | null;
  /** The row stands for all of these. */
  set?: RunsOfSet | null;
}

/** The runs of a set that meet the list's filter. */
export interface RunsOfSet {
  /** In the order of the runs. */
  ids: string[];
  /** Number of requests by status. */
  status: Partial<Record<RequestSummary["status"], number>>;
  cost_nano: number | null;
  currency: string;
}

/** The trace of an imported file; `is_known`: it was in the library already. */
export interface ImportedTrace extends RequestSummary {
  is_known: boolean;
}

/** Filters with few texts, and those that occur among the user's traces; and the currencies of their costs. */
export type Choices = Record<
  "status" | "finish_reason" | "verdict" | "surface" | "model" | "is_imported" | "currency",
  string[]
>;

/** Traces by their ids, or all that a filter matches. */
export type Selection = { ids: string[] } | { query: string };

export interface SavedView {
  id: number;
  name: string;
  /** As in the library's address. */
  query: string;
}

/** A link that shows a trace to any person who has it. */
export interface Share {
  id: number;
  request_id: string;
  title: string;
  is_redacted: boolean;
  created_at: string;
  expires_at: string;
}

export interface NewShare extends Share {
  /** The link's path, which is given only once. */
  path: string;
}

export interface Retention {
  /** Null: for good. */
  keep_days: number | null;
  /** Traces that the rule asked about would delete now. */
  num_due: number;
  num_traces: number;
  num_pinned: number;
}

export interface TagCount {
  name: string;
  num_traces: number;
}

/** A command to an answer whose tokens are chosen one by one. */
export interface StepCommand {
  /** Position of the proposed token. */
  position: number;
  /** Another candidate than the one drawn. */
  token_id?: number;
  /** Tokens to take before the next is proposed; 0: stop running on; null: all. */
  num_tokens?: number | null;
}

export interface Started {
  assistant_message: Message;
  /** The other answers to the message. */
  siblings: Message[];
  /** They were there: the same was posted before under this key. */
  is_repeat: boolean;
  received_unix_us: number;
  responded_unix_us: number;
  server_timing: ServerInterval[] | null;
}

export interface Sent extends Started {
  user_message: Message;
  title: string;
}

/** The settings of the answers to a message, and their number. */
export interface Asking {
  params: SamplingParams;
  n: number;
}

/** The exhibits' experiments on the model, and on the engine's guesses. */
export type ExperimentRequest = ReadingRequest | NearnessRequest | OrderRequest | LoopRequest | GuessRequest;

export interface NewMessage extends Partial<Asking> {
  is_stepped?: boolean;
  /** Each answer's own settings, in place of `params` and `n`. */
  params_each?: SamplingParams[];
  text: string;
  parent_id: string | null;
  client: Partial<ClientTiming>;
}

/** The event of each kind of probe. */
export interface ProbeEvents {
  attention: ProbeAttended;
  lens: ProbeLensed;
  neighbours: ProbeCompared;
  memory: ProbeMeasured;
}
export type ProbeKind = keyof ProbeEvents;

/** Today's price of one token of each kind, in billionths of the currency unit. */
export interface Prices {
  currency: string;
  version: string;
  unit_prices_nano: Record<keyof Usage, number>;
}

/** The safety layers' verdicts on a text. */
export interface TextChecks {
  input: SafetyChecked;
  output: SafetyChecked;
}

/** The packed prompt of one turn of a chat. */
export interface PackedTurn {
  ids: number[];
  segments: { kind: Segment["kind"]; num_tokens: number }[];
  num_dropped: number;
  num_dropped_tokens: number;
  reserved: number;
  answer_ids: number[];
}

export interface Chat {
  system_prompt: string;
  turns: { question: string; answer: string }[];
  window: number;
  reserved: number;
}

/** The state of a probe that has no event yet. */
export interface ProbeProgress {
  state: "queued" | "running";
}

export const UNREACHABLE = "The server could not be reached. Is it running?";

async function call<T>(method: string, path: string, body?: unknown, outlivesPage = false): Promise<T> {
  return (await answered<T>(method, path, body, outlivesPage)).data;
}

/** Begins answers; the reply's header has the times of the server's intervals. */
async function start<T extends Started>(path: string, body: unknown, key?: string): Promise<T> {
  const { data, headers } = await answered<T>("POST", path, body, false, key);
  const is_repeat = headers.get("Idempotent-Replayed") === "true";
  return { ...data, is_repeat, server_timing: serverTiming(headers.get("Server-Timing")) };
}

async function answered<T>(
  method: string,
  path: string,
  body?: unknown,
  outlivesPage = false,
  key?: string,
  signal?: AbortSignal,
): Promise<{ data: T; headers: Headers }> {
  const isForm = body instanceof FormData;
  const headers: Record<string, string> = { "X-CSRFToken": cookie("csrftoken") };
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const payload = body === undefined || isForm ? (body as FormData | undefined) : JSON.stringify(body);
  let response: Response;
  try {
    // A deletion may be sent while its page is being left, and outlives it.
    const keepalive = outlivesPage || method === "DELETE";
    response = await fetch(path, { method, headers, body: payload, keepalive, signal });
  } catch {
    throw new ApiError(0, { code: "offline", message: UNREACHABLE });
  }
  const { headers: replied } = response;
  if (response.status === 204) return { data: undefined as T, headers: replied };
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, problemOf(data, response.status));
  return { data: data as T, headers: replied };
}

/** A settled request's trace as it is kept, and the event that came after it was saved; null where there is none. */
async function savedTrace(
  id: string,
): Promise<{ content: Uint8Array; observed: RequestObserved | null } | null> {
  const response = await fetch(`/api/traces/${id}/saved`).catch(() => null);
  if (!response?.ok) return null;
  const observed = response.headers.get("Sightglass-Observed");
  const content = new Uint8Array(await response.arrayBuffer());
  return { content, observed: observed ? (JSON.parse(observed) as RequestObserved) : null };
}

function problemOf(data: unknown, status: number): ApiProblem {
  const problem = (data as { error?: ApiProblem } | null)?.error;
  return problem ?? { code: "internal", message: `The server answered with status ${status}.` };
}

export function cookie(name: string): string {
  return document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]*)`))?.[1] ?? "";
}

/** The content, cost and wait of the next request. */
export interface Preview {
  window: number;
  reserved_output: number;
  num_prompt_tokens: number;
  /** The most that the answer may have. */
  num_output_tokens: number;
  /** Texts are excerpts. */
  segments: { kind: string; role: string; start: number; end: number; source: string; text: string }[];
  dropped: { kind: string; source: string; num_tokens: number; reason: string; text: string }[];
  /** In the worker's prefix cache at this moment; null: not known. */
  num_cached_tokens: number | null;
  /** Costs by today's prices; null: unpriced. */
  price: { currency: string; version: string; prompt_nano: number; most_answer_nano: number } | null;
  wait: {
    num_queued: number;
    /** The user's own, of which the wait is the median. */
    num_recent: number;
    first_text_us: number | null;
  };
}

export const api = {
  session: () => call<Session>("GET", "/api/session"),
  conversations: (q = "") =>
    call<{ conversations: ConversationSummary[] }>("GET", `/api/conversations?q=${encodeURIComponent(q)}`),
  /** Check a conversation's settings. */
  checkSettings: (body: Asking & { system_prompt: string }) =>
    call<{ notes: Problem[] }>("POST", "/api/conversations/check", body),
  presets: () => call<{ presets: Preset[] }>("GET", "/api/presets"),
  savePreset: (body: Omit<Preset, "id">) => call<Preset>("POST", "/api/presets", body),
  renamePreset: (id: number, name: string) => call<Preset>("PATCH", `/api/presets/${id}`, { name }),
  deletePreset: (id: number) => call<void>("DELETE", `/api/presets/${id}`),
  /** Preview the next request; id null: of a conversation that has not begun. */
  preview: async (id: string | null, body: object, signal: AbortSignal) =>
    (
      await answered<Preview>(
        "POST",
        `/api/conversations/${id ? `${id}/` : ""}preview`,
        body,
        false,
        undefined,
        signal,
      )
    ).data,
  createConversation: (body: object) => call<Conversation>("POST", "/api/conversations", body),
  conversation: (id: string) => call<Conversation>("GET", `/api/conversations/${id}`),
  changeConversation: (id: string, body: object) =>
    call<Conversation>("PATCH", `/api/conversations/${id}`, body),
  turns: (id: string) => call<Turns>("GET", `/api/conversations/${id}/turns`),
  importConversations: (file: File) => {
    const form = new FormData();
    form.append("file", file);
    return call<ImportReport>("POST", "/api/conversations/import", form);
  },
  deleteConversation: (id: string) => call<void>("DELETE", `/api/conversations/${id}`),
  send: (id: string, body: NewMessage, key: string) =>
    start<Sent>(`/api/conversations/${id}/messages`, body, key),
  regenerate: (id: string, body: object) => start<Started>(`/api/messages/${id}/regenerate`, body),
  step: (id: string, body: StepCommand) => call<void>("POST", `/api/requests/${id}/step`, body),
  fork: (id: string, body: ForkPlace & { client?: Partial<ClientTiming>; is_stepped?: boolean }) =>
    start<Started>(`/api/requests/${id}/fork`, body),
  cancel: (id: string) => call<void>("POST", `/api/requests/${id}/cancel`),
  observed: (id: string, body: Partial<ClientTiming>) =>
    call<void>("POST", `/api/requests/${id}/observed`, body),
  request: (id: string) => call<RequestSummary>("GET", `/api/requests/${id}`),
  rerunsOf: (id: string) => call<{ reruns: RerunHead[] }>("GET", `/api/requests/${id}/reruns`),
  runAgain: (id: string, plan: RerunPlan) => call<RerunSet>("POST", `/api/requests/${id}/reruns`, plan),
  rerun: (id: string) => call<RerunSet>("GET", `/api/reruns/${id}`),
  stopRerun: (id: string) => call<RerunSet>("POST", `/api/reruns/${id}/stop`),
  probe: <Kind extends ProbeKind>(id: string, kind: Kind, position: number) =>
    call<ProbeEvents[Kind] | ProbeProgress>("POST", `/api/requests/${id}/probes`, { kind, position }),
  traces: (query: URLSearchParams) =>
    call<{ traces: ListedTrace[]; next_cursor: string | null }>("GET", `/api/traces?${query}`),
  changeTrace: (id: string, change: Partial<Marks>) =>
    call<ListedTrace>("PATCH", `/api/traces/${id}`, change),
  tagTraces: (body: Selection & { add: string[]; remove: string[] }) =>
    call<{ num_traces: number }>("POST", "/api/traces/tags", body),
  deleteTraces: (selection: Selection) =>
    call<{ num_traces: number }>("POST", "/api/traces/delete", selection, true),
  choices: () => call<{ choices: Choices }>("GET", "/api/traces/choices"),
  tags: () => call<{ tags: TagCount[] }>("GET", "/api/tags"),
  views: () => call<{ views: SavedView[] }>("GET", "/api/views"),
  saveView: (body: { name: string; query: string }) => call<SavedView>("POST", "/api/views", body),
  changeView: (id: number, body: Partial<SavedView>) => call<SavedView>("PATCH", `/api/views/${id}`, body),
  sharesOf: (id: string) => call<{ shares: Share[] }>("GET", `/api/traces/${id}/shares`),
  share: (id: string, body: { expires_in_s: number; is_redacted: boolean }) =>
    call<NewShare>("POST", `/api/traces/${id}/shares`, body),
  shares: () => call<{ shares: Share[] }>("GET", "/api/shares"),
  deleteShare: (id: number) => call<void>("DELETE", `/api/shares/${id}`),
  /** The rule in force; given days, also the traces that such a rule would delete. */
  retention: (keepDays?: number) =>
    call<Retention>("GET", `/api/retention${keepDays === undefined ? "" : `?keep_days=${keepDays}`}`),
  setRetention: (keepDays: number | null) =>
    call<Retention>("PUT", "/api/retention", { keep_days: keepDays }),
  sendTrace: (id: string) => call<{ num_spans: number }>("POST", `/api/traces/${id}/otlp`),
  deleteView: (id: number) => call<void>("DELETE", `/api/views/${id}`),
  /** One trace, or all of an archive. */
  importTraces: async (file: File): Promise<ImportedTrace[]> => {
    const form = new FormData();
    form.append("file", file);
    const kept = await call<ImportedTrace | { traces: ImportedTrace[] }>("POST", "/api/traces/import", form);
    return "traces" in kept ? kept.traces : [kept];
  },
  packChat: (chat: Chat) => call<{ turns: PackedTurn[] }>("POST", "/api/learn/chat", chat),
  checkText: (text: string) => call<TextChecks | ProbeProgress>("POST", "/api/learn/checks", { text }),
  simulate: (request: SimulationRequest) =>
    call<Simulation | ProbeProgress>("POST", "/api/learn/simulations", request),
  experiment: <Outcome extends object>(request: ExperimentRequest) =>
    call<Outcome | ProbeProgress>("POST", "/api/learn/experiments", { request }),
  prices: () => call<{ prices: Prices | null }>("GET", "/api/learn/prices"),
  savedTrace,
  /** With the texts of the turn before, which are read from its own trace. */
  compared: (id: string) => call<ContextCompared>("GET", `/api/requests/${id}/compared`),
  ledger: (id: string) => call<LedgerEntry>("GET", `/api/requests/${id}/ledger`),
  deleteTrace: (id: string) => call<void>("DELETE", `/api/traces/${id}`),
};
