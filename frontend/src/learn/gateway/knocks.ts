/** Requests that the page really sends to this server's gateway, and the replies. The server starts none of them. */

/** The doors in the order in which the server checks them (webapp/api/surfaces/chat/messages.py), each with its refusals. */
export const DOORS = [
  { id: "session", name: "Signed in", asks: "Whose session is it?" },
  { id: "secret", name: "From this page", asks: "Does it carry the page’s secret?" },
  { id: "json", name: "Readable", asks: "Is the body JSON?" },
  { id: "owner", name: "Yours", asks: "Does the conversation belong to the sender?" },
  { id: "sense", name: "Makes sense", asks: "Are text and settings allowed?" },
  { id: "room", name: "Room", asks: "Is a place free among the open requests?" },
] as const;

export type DoorId = (typeof DOORS)[number]["id"];

const DOOR_OF: Record<string, DoorId> = {
  csrf: "secret",
  not_signed_in: "session",
  invalid_json: "json",
  not_found: "owner",
  too_many_requests: "room",
};

/** The door that refused; null: no door did. */
export function doorOf({ status, body }: Pick<Reply, "status" | "body">): DoorId | null {
  if (status < 400) return null;
  const code = (body as { error?: { code?: string } } | null)?.error?.code ?? "";
  return DOOR_OF[code] ?? "sense";
}

export interface Knock {
  name: string;
  method: "GET" | "POST";
  path: string;
  /** The body as text, since one of them is not valid JSON. */
  body?: string;
  hasSession?: false;
  hasSecret?: false;
}

const GATEWAY = "/api/learn/gateway";
const post = (name: string, body: string, rest: Partial<Knock> = {}): Knock => ({
  name,
  method: "POST",
  path: GATEWAY,
  body,
  ...rest,
});

export const IN_ORDER = post("All in order", '{"text":"Hello"}');

export const KNOCKS: Knock[] = [
  IN_ORDER,
  post("Not signed in", '{"text":"Hello"}', { hasSession: false }),
  post("From another page", '{"text":"Hello"}', { hasSecret: false }),
  post("Half a body", '{"text":"Hello"'),
  {
    name: "Another person’s chat",
    method: "GET",
    path: "/api/requests/req_AAAAAAAAAAAAAAAAAAAAAA/ledger",
  },
  post("An empty message", '{"text":"   "}'),
  post("Impossible settings", '{"text":"Hello","params":{"temperature":9,"top_p":0}}'),
  post("A misspelt setting", '{"text":"Hello","params":{"temprature":1}}'),
];

/** A message that the server checks as if this many requests were open. */
export function crowded(numOpen: number, n: number): Knock {
  return post("Busy", JSON.stringify({ text: "Hello", n, num_open: numOpen }));
}

export interface Reply {
  status: number;
  statusText: string;
  headers: [string, string][];
  body: unknown;
  /** µs from sending to the body's end. */
  took: number;
}

const SHOWN_HEADERS = ["content-type", "retry-after", "server-timing", "www-authenticate", "allow"];

/** Rejects with Error when the server cannot be reached. */
export async function knock(
  { method, path, body, hasSession, hasSecret }: Knock,
  secret: string,
): Promise<Reply> {
  const start = performance.now();
  const response = await fetch(path, {
    method,
    body,
    credentials: hasSession === false ? "omit" : "same-origin",
    headers: headersOf({ body, hasSecret }, secret),
  });
  const parsed: unknown = await response.json().catch(() => null);
  return {
    status: response.status,
    statusText: response.statusText,
    headers: SHOWN_HEADERS.flatMap((name): [string, string][] => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
    body: parsed,
    took: (performance.now() - start) * 1000,
  };
}

/** The headers that the page itself sets; the browser adds the session's cookie, which no script can read. */
export function headersOf(
  { body, hasSecret }: Pick<Knock, "body" | "hasSecret">,
  secret: string,
): Record<string, string> {
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(body === undefined || hasSecret === false ? {} : { "X-CSRFToken": secret }),
  };
}

const HIDDEN = "••••••••";

/** The request as sent, without secrets that no page should show. */
export function requestText(sent: Knock): string {
  const headers = Object.entries(headersOf(sent, `${HIDDEN} (this page’s secret)`));
  const cookie =
    sent.hasSession === false ? "" : `sessionid=${HIDDEN} (added by the browser; no script reads it)`;
  return [
    `${sent.method} ${sent.path}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Cookie: ${cookie || "none"}`,
    ...(sent.body === undefined ? [] : ["", sent.body]),
  ].join("\n");
}

export function replyText({ status, statusText, headers, body }: Reply): string {
  return [
    `${status} ${statusText}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    "",
    JSON.stringify(body, null, 2),
  ].join("\n");
}
