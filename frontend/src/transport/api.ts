/** The native JSON API: calls by the generated table of operations. */
import type {
  ApiProblem,
  Compaction,
  Draft,
  ErrorAnswer,
  ExperimentBody,
  ImportedRequest,
  MarksChange,
  NewFork,
  NewChats,
  NewPreset,
  Operations,
  PolicyChange,
  PolicyThresholds,
  ProbeBody,
  Selection,
  SiteRetentionChange,
  Started,
  Waiting,
} from "../protocol/api";
import type {
  Frame,
  ProbeAttended,
  ProbeCompared,
  ProbeLensed,
  ProbeMeasured,
  ProbeSummed,
  RequestObserved,
  SamplingParams,
  ServerInterval,
} from "../protocol/events";
import { serverTiming } from "./server-timing";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: ApiProblem,
  ) {
    super(problem.message);
  }
}

/** The users whose usage is asked for: all, the signed-in one, or the members of a group of this one. */
export type Scope =
  | { readonly kind: "all" | "own"; readonly group?: undefined; readonly isSummed?: undefined }
  | {
      readonly kind: "group";
      readonly group: number;
      /** The reader sees the sums of all, and no user. */
      readonly isSummed?: boolean;
    };

/** The settings of the answers to a message, and their number. */
export interface Asking {
  params: SamplingParams;
  n: number;
}

/** A fork's place in an answer: after a number of tokens, perhaps with a chosen one; or its new beginning. */
export type ForkPlace = ({ position: number; token_id?: number } | { text: string }) & {
  /** The generation in which the place is; none: the answer's last. */
  generation?: number;
  /** None: the parent's own. */
  params?: SamplingParams;
};

/** The event of each kind of probe. */
export interface ProbeEvents {
  attention: ProbeAttended;
  sources: ProbeSummed;
  lens: ProbeLensed;
  neighbours: ProbeCompared;
  memory: ProbeMeasured;
}
export type ProbeKind = ProbeBody["kind"];

/** The answers that a call began, and the facts in its headers. */
export interface Begun extends Started {
  /** They were there: the same was posted before under this key. */
  is_repeat: boolean;
  server_timing: ServerInterval[] | null;
}

export const UNREACHABLE = "The server could not be reached. Is it running?";

type Call = keyof Operations;
type Names<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;

interface Given<Key extends Call> {
  /** Values for the names in the address. */
  path?: Record<Names<Key>, string | number>;
  query?: URLSearchParams;
  body?: Operations[Key] extends { body: infer Body } ? Body : never;
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** Sent also while the page is being left. */
  outlivesPage?: boolean;
}

export async function call<Key extends Call>(
  key: Key,
  given: Given<Key> = {},
): Promise<Operations[Key]["answer"]> {
  return (await answered(key, given)).data;
}

/** Begins answers; the reply's header has the times of the server's intervals. */
async function start<Key extends Call>(
  key: Key,
  given: Given<Key>,
): Promise<Operations[Key]["answer"] & Begun> {
  const { data, headers } = await answered(key, given);
  const is_repeat = headers.get("Idempotent-Replayed") === "true";
  const server_timing = serverTiming(headers.get("Server-Timing"));
  return { ...data, is_repeat, server_timing } as Operations[Key]["answer"] & Begun;
}

async function answered<Key extends Call>(
  key: Key,
  given: Given<Key>,
): Promise<{ data: Operations[Key]["answer"]; headers: Headers }> {
  const [method, address] = key.split(" ") as [string, string];
  const signal = given.signal;
  const body: unknown = given.body;
  const headers: Record<string, string> = { "X-CSRFToken": csrfToken() };
  if (body !== undefined && !(body instanceof FormData)) headers["Content-Type"] = "application/json";
  if (given.idempotencyKey !== undefined) headers["Idempotency-Key"] = given.idempotencyKey;
  const payload = body === undefined || body instanceof FormData ? body : JSON.stringify(body);
  let response: Response;
  try {
    // A deletion may be sent while its page is being left, and outlives it.
    const keepalive = given.outlivesPage || method === "DELETE";
    response = await fetch(urlOf(address, given), { method, headers, body: payload, keepalive, signal });
  } catch {
    throw new ApiError(0, { code: "offline", message: UNREACHABLE });
  }
  const { headers: replied } = response;
  if (response.status === 204) return { data: undefined as Operations[Key]["answer"], headers: replied };
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, problemOf(data, response.status));
  return { data: data as Operations[Key]["answer"], headers: replied };
}

function urlOf<Key extends Call>(address: string, given: Given<Key>): string {
  const values: Record<string, string | number> = given.path ?? {};
  const path = address.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const query = given.query?.toString();
  return query ? `${path}?${query}` : path;
}

/** A settled request's trace as it is kept, and the event that came after it was saved; null where there is none. */
async function savedTrace(
  id: string,
): Promise<{ content: Uint8Array; observed: RequestObserved | null } | null> {
  const response = await fetch(`/api/requests/${id}/trace`).catch(() => null);
  if (!response) return null;
  // A refusal's body is read too: the browser counts a request as running until it is.
  const content = new Uint8Array(await response.arrayBuffer());
  if (!response.ok || response.status === 204) return null;
  const observed = response.headers.get("Sightglass-Observed");
  return { content, observed: observed ? (JSON.parse(observed) as RequestObserved) : null };
}

/** Another user's saved trace, as an operator reads it. */
export interface OthersTrace {
  user: string;
  title: string;
  /** Demonstration data, of `manage.py seed_demo`. */
  is_demo: boolean;
  frames: Frame[];
}

async function othersTrace(id: string): Promise<OthersTrace> {
  const response = await fetch(`/api/requests/${encodeURIComponent(id)}/reading`).catch(() => null);
  if (!response) throw new ApiError(0, { code: "offline", message: UNREACHABLE });
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, problemOf(data, response.status));
  return data as OthersTrace;
}

function problemOf(data: unknown, status: number): ApiProblem {
  const problem = (data as ErrorAnswer | null)?.error;
  return problem ?? { code: "internal", message: `The server answered with status ${status}.` };
}

/** The value that every write sends. A site with a public address gives the cookie a name with a prefix. */
export function csrfToken(): string {
  return document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]*)/)?.[1] ?? "";
}

/** The place of a request in the addresses. */
const at = (request_id: string) => ({ request_id });
const upload = (file: File): FormData => {
  const form = new FormData();
  form.append("file", file);
  return form;
};
/** The period of a report's query, without its choice of requests. */
const periodOf = (asked: string) =>
  new URLSearchParams(
    [...new URLSearchParams(asked)].filter(([name]) => ["first", "last", "zone"].includes(name)),
  );
const query = (values: Record<string, string | number>) =>
  new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)]));

export const api = {
  session: () => call("GET /api/session"),
  /** The notices of now. */
  notices: () => call("GET /api/notices"),
  conversations: (q = "") => call("GET /api/conversations", { query: query({ q }) }),
  /** Check a conversation's settings. */
  checkSettings: (body: Asking & { model: string; system_prompt: string }) =>
    call("POST /api/conversations/check", { body }),
  tools: () => call("GET /api/tools"),
  /** model: the one whose tokens are counted. */
  attach: (file: File, model: string) =>
    call("POST /api/attachments", { query: query({ model }), body: upload(file) }),
  attachment: (attachment_id: string) =>
    call("GET /api/attachments/{attachment_id}", { path: { attachment_id } }),
  deleteAttachment: (attachment_id: string) =>
    call("DELETE /api/attachments/{attachment_id}", { path: { attachment_id } }),
  passages: (attachment_id: string, numbers: number[]) =>
    call("GET /api/attachments/{attachment_id}/passages", {
      path: { attachment_id },
      query: query({ numbers: numbers.join(",") }),
    }),
  newChats: () => call("GET /api/new-chats"),
  setNewChats: (body: NewChats) => call("PUT /api/new-chats", { body }),
  presets: () => call("GET /api/presets"),
  savePreset: (body: NewPreset) => call("POST /api/presets", { body }),
  renamePreset: (preset_id: number, name: string) =>
    call("PATCH /api/presets/{preset_id}", { path: { preset_id }, body: { name } }),
  deletePreset: (preset_id: number) => call("DELETE /api/presets/{preset_id}", { path: { preset_id } }),
  /** Preview the next request; id null: of a conversation that has not begun. */
  preview: (id: string | null, body: Draft, signal: AbortSignal) =>
    id === null
      ? call("POST /api/conversations/preview", { body, signal })
      : call("POST /api/conversations/{conversation_id}/preview", {
          path: { conversation_id: id },
          body,
          signal,
        }),
  /** Preview a summary of the oldest turns. */
  previewCompaction: (conversation_id: string, body: Compaction, signal?: AbortSignal) =>
    call("POST /api/conversations/{conversation_id}/compactions/preview", {
      path: { conversation_id },
      body,
      ...(signal && { signal }),
    }),
  compact: (conversation_id: string, body: Compaction, idempotencyKey: string) =>
    call("POST /api/conversations/{conversation_id}/compactions", {
      path: { conversation_id },
      body,
      idempotencyKey,
    }),
  compactions: (conversation_id: string) =>
    call("GET /api/conversations/{conversation_id}/compactions", { path: { conversation_id } }),
  undoCompaction: (conversation_id: string, summary_id: string) =>
    call("DELETE /api/conversations/{conversation_id}/compactions/{summary_id}", {
      path: { conversation_id, summary_id },
    }),
  createConversation: (body: Operations["POST /api/conversations"]["body"]) =>
    call("POST /api/conversations", { body }),
  conversation: (conversation_id: string) =>
    call("GET /api/conversations/{conversation_id}", { path: { conversation_id } }),
  changeConversation: (
    conversation_id: string,
    body: Operations["PATCH /api/conversations/{conversation_id}"]["body"],
  ) => call("PATCH /api/conversations/{conversation_id}", { path: { conversation_id }, body }),
  turns: (conversation_id: string) =>
    call("GET /api/conversations/{conversation_id}/turns", { path: { conversation_id } }),
  importConversations: (file: File) => call("POST /api/conversations/import", { body: upload(file) }),
  deleteConversation: (conversation_id: string) =>
    call("DELETE /api/conversations/{conversation_id}", { path: { conversation_id } }),
  send: (
    conversation_id: string,
    body: Operations["POST /api/conversations/{conversation_id}/messages"]["body"],
    idempotencyKey: string,
  ) =>
    start("POST /api/conversations/{conversation_id}/messages", {
      path: { conversation_id },
      body,
      idempotencyKey,
    }),
  regenerate: (message_id: string, body: Operations["POST /api/messages/{message_id}/regenerate"]["body"]) =>
    start("POST /api/messages/{message_id}/regenerate", { path: { message_id }, body }),
  step: (id: string, body: Operations["POST /api/requests/{request_id}/step"]["body"]) =>
    call("POST /api/requests/{request_id}/step", { path: at(id), body }),
  /** End the model's thinking. */
  answerNow: (id: string) => call("POST /api/requests/{request_id}/answer-now", { path: at(id) }),
  /** Approve or decline a call that changes something. */
  decideCall: (id: string, call_id: string, approve: boolean) =>
    call("POST /api/requests/{request_id}/approvals", { path: at(id), body: { call_id, approve } }),
  fork: (id: string, body: ForkPlace & Pick<NewFork, "client" | "is_stepped">) =>
    start("POST /api/requests/{request_id}/fork", { path: at(id), body }),
  cancel: (id: string) => call("POST /api/requests/{request_id}/cancel", { path: at(id) }),
  observed: (id: string, body: Operations["POST /api/requests/{request_id}/observed"]["body"]) =>
    call("POST /api/requests/{request_id}/observed", { path: at(id), body }),
  request: (id: string) => call("GET /api/requests/{request_id}", { path: at(id) }),
  rerunsOf: (id: string) => call("GET /api/requests/{request_id}/reruns", { path: at(id) }),
  runAgain: (id: string, body: Operations["POST /api/requests/{request_id}/reruns"]["body"]) =>
    call("POST /api/requests/{request_id}/reruns", { path: at(id), body }),
  rerun: (rerun_id: string) => call("GET /api/reruns/{rerun_id}", { path: { rerun_id } }),
  stopRerun: (rerun_id: string) => call("POST /api/reruns/{rerun_id}/stop", { path: { rerun_id } }),
  probe: <Kind extends ProbeKind>(id: string, kind: Kind, position: number) =>
    call("POST /api/requests/{request_id}/probes", { path: at(id), body: { kind, position } }) as Promise<
      ProbeEvents[Kind] | Waiting
    >,
  requests: (query: URLSearchParams) => call("GET /api/requests", { query }),
  changeMarks: (id: string, body: MarksChange) =>
    call("PATCH /api/requests/{request_id}", { path: at(id), body }),
  tagRequests: (body: Selection & { add: string[]; remove: string[] }) =>
    call("POST /api/requests/tags", { body }),
  deleteRequests: (body: Selection) => call("POST /api/requests/delete", { body, outlivesPage: true }),
  choices: () => call("GET /api/requests/choices"),
  tags: () => call("GET /api/requests/tags"),
  views: () => call("GET /api/views"),
  saveView: (body: { name: string; query: string }) => call("POST /api/views", { body }),
  changeView: (view_id: number, body: Operations["PATCH /api/views/{view_id}"]["body"]) =>
    call("PATCH /api/views/{view_id}", { path: { view_id }, body }),
  deleteView: (view_id: number) => call("DELETE /api/views/{view_id}", { path: { view_id } }),
  sharesOf: (id: string) => call("GET /api/requests/{request_id}/shares", { path: at(id) }),
  share: (id: string, body: { expires_in_s: number; is_redacted: boolean }) =>
    call("POST /api/requests/{request_id}/shares", { path: at(id), body }),
  shares: () => call("GET /api/shares"),
  deleteShare: (share_id: number) => call("DELETE /api/shares/{share_id}", { path: { share_id } }),
  /** The rule in force; given days, also the traces that such a rule would delete. */
  storage: () => call("GET /api/storage", {}),
  retention: (keep_days?: number) =>
    call("GET /api/retention", keep_days === undefined ? {} : { query: query({ keep_days }) }),
  setRetention: (keep_days: number | null) => call("PUT /api/retention", { body: { keep_days } }),
  safety: () => call("GET /api/safety"),
  previewSafety: (body: PolicyThresholds) => call("POST /api/safety/preview", { body }),
  setSafety: (body: PolicyChange) => call("PUT /api/safety", { body }),
  siteRetention: () => call("GET /api/retention/site"),
  previewSiteRetention: (body: SiteRetentionChange) => call("POST /api/retention/site/preview", { body }),
  setSiteRetention: (body: SiteRetentionChange) => call("PUT /api/retention/site", { body }),
  sendTrace: (id: string) => call("POST /api/requests/{request_id}/otlp", { path: at(id) }),
  /** One trace, or all of an archive. */
  importRequests: async (file: File): Promise<ImportedRequest[]> =>
    (await call("POST /api/requests/import", { body: upload(file) })).requests,
  packChat: (body: Operations["POST /api/learn/chat"]["body"]) => call("POST /api/learn/chat", { body }),
  checkText: (text: string) => call("POST /api/learn/checks", { body: { text } }),
  checkInjection: (text: string) => call("POST /api/learn/injections", { body: { text } }),
  rankNotes: (body: Operations["POST /api/learn/retrievals"]["body"]) =>
    call("POST /api/learn/retrievals", { body }),
  simulate: (body: Operations["POST /api/learn/simulations"]["body"]) =>
    call("POST /api/learn/simulations", { body }),
  experiment: <Result extends object>(request: ExperimentBody["request"]) =>
    call("POST /api/learn/experiments", { body: { request } }) as Promise<Result | Waiting>,
  health: () => call("GET /api/health"),
  usage: (query: URLSearchParams, { kind, group }: Scope) =>
    kind === "group"
      ? call("GET /api/usage/groups/{group_id}", { path: { group_id: group }, query })
      : call(kind === "own" ? "GET /api/usage" : "GET /api/usage/all", { query }),
  dailyUsage: (asked: string, { kind, group }: Scope) => {
    const query = periodOf(asked);
    return kind === "group"
      ? call("GET /api/usage/groups/{group_id}/days", { path: { group_id: group }, query })
      : call("GET /api/usage/days", { query });
  },
  dailyUsageFile: (asked: string, { kind, group }: Scope) =>
    `/api/usage/${kind === "group" ? `groups/${group}/` : ""}days.csv?${periodOf(asked).toString()}`,
  ownLimits: () => call("GET /api/usage/limits"),
  /** The limits of another request like an own one. */
  limitsOf: (request: string) => call("GET /api/usage/limits", { query: new URLSearchParams({ request }) }),
  refusals: () => call("GET /api/usage/refusals"),
  /** The models of one user beside those of all. */
  userModels: (target_id: number, query: URLSearchParams) =>
    call("GET /api/usage/all/users/{target_id}/models", { path: { target_id }, query }),
  whatIf: (query: URLSearchParams) => call("GET /api/usage/all/what-if", { query }),
  findings: (query: URLSearchParams, { kind, group }: Scope) =>
    kind === "group"
      ? call("GET /api/usage/groups/{group_id}/findings", { path: { group_id: group }, query })
      : call(kind === "own" ? "GET /api/usage/findings" : "GET /api/usage/all/findings", { query }),
  usedRequests: (query: URLSearchParams, { kind, group }: Scope) =>
    kind === "group"
      ? call("GET /api/usage/groups/{group_id}/requests", { path: { group_id: group }, query })
      : call(kind === "own" ? "GET /api/usage/requests" : "GET /api/usage/all/requests", { query }),
  live: () => call("GET /api/live"),
  /** Of any user, for operators. */
  drainWorker: (name: string, isDrained: boolean) =>
    call("PATCH /api/live/workers/{name}", { path: { name }, body: { is_drained: isDrained } }),
  stopAnyRequest: (id: string) => call("POST /api/live/requests/{request_id}/stop", { path: at(id) }),
  /** What the product holds of a user; null: of the signed-in one. */
  allData: (user_id: number | null) =>
    user_id === null
      ? call("GET /api/account/data")
      : call("GET /api/users/{user_id}/data", { path: { user_id } }),
  erase: (user_id: number | null, name: string) =>
    user_id === null
      ? call("POST /api/account/erasure", { body: { name } })
      : call("POST /api/users/{user_id}/erasure", { path: { user_id }, body: { name } }),
  /** Without a model: those of the default one. */
  prices: (model = "") => call("GET /api/learn/prices", { query: query({ model }) }),
  savedTrace,
  othersTrace,
  /** With the texts of the turn before, which are read from its own trace. */
  compared: (id: string) => call("GET /api/requests/{request_id}/compared", { path: at(id) }),
  leftOut: (id: string) => call("GET /api/requests/{request_id}/left-out", { path: at(id) }),
  ledger: (id: string) => call("GET /api/requests/{request_id}/ledger", { path: at(id) }),
  deleteRequest: (id: string) => call("DELETE /api/requests/{request_id}", { path: at(id) }),
};
