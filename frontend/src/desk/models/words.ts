/** Words of the page of models, and what can be done with a model in each state. Pure. */
import type { RegisteredModel, WorkerStatus } from "../../protocol/api";
import { count, duration } from "../../trace/format";

export type Kind = RegisteredModel["kind"];
type State = RegisteredModel["state"];

/** file: the name of the path's field. */
export const KINDS: Record<Kind, { name: string; about: string; file: string; example: string }> = {
  gguf: {
    name: "GGUF file",
    about: "One file with weights, tokenizer and chat template.",
    file: "GGUF file on the server",
    example: "/models/qwen2.5-0.5b-instruct-q8_0.gguf",
  },
  safetensors: {
    name: "safetensors folder",
    about: "A folder as Hugging Face lays it out.",
    file: "Folder on the server",
    example: "/models/Qwen2.5-0.5B-Instruct",
  },
  remote: {
    name: "Remote server",
    about: "vLLM, llama.cpp or another server with OpenAI’s completions API.",
    file: "File or folder of the same model, for its tokenizer and chat template",
    example: "/models/qwen2.5-0.5b-instruct-q8_0.gguf",
  },
};

export const STATES: Record<State, string> = {
  checking: "checking",
  failed: "check failed",
  enabled: "enabled",
  drained: "drained",
  retired: "retired",
};

export const ACTIONS = {
  check: "Check again",
  enable: "Enable",
  default: "Make default",
  drain: "Drain",
  retire: "Retire",
  change: "Change",
  delete: "Delete",
} as const;
export type Action = keyof typeof ACTIONS;

const IN_STATE: Record<State, Action[]> = {
  checking: ["retire"],
  failed: ["check", "change", "delete"],
  enabled: ["default", "drain", "check", "change"],
  drained: ["enable", "retire", "check", "change"],
  retired: ["check", "change", "delete"],
};

/** The actions that the server does not refuse in the model's state. */
export function actionsOf({ state, is_default, is_configured }: RegisteredModel): Action[] {
  const isOpen = (action: Action) =>
    !(is_default && ["default", "drain", "check"].includes(action)) &&
    !(is_configured && ["retire", "change", "delete"].includes(action));
  return IN_STATE[state].filter(isOpen);
}

/** The state in a sentence; of a failed check the server's own. */
export function stateText({ state, is_default, message, num_open_requests: num }: RegisteredModel): string {
  switch (state) {
    case "checking":
      return "A test generation is on its way. Users are not offered the model until it has ended well.";
    case "failed":
      return message || "The last check failed.";
    case "enabled":
      return is_default
        ? "New conversations begin with it, so it stays enabled."
        : "It is offered on the chat page, in every form and by the API.";
    case "drained":
      return num
        ? `It takes no new request. ${num === 1 ? "One request is" : `${count(num)} requests are`} still open.`
        : "It takes no new request. Its workers stay until it is retired.";
    case "retired":
      return "Its workers are stopped. A good check starts them and enables it.";
  }
}

export interface Figure {
  name: string;
  text: string;
}

const NONE = "–";

/** The figures of a model: its workers and their work, and its last check's times. */
export function figuresOf(model: RegisteredModel): Figure[] {
  const { num_ready_workers, num_workers, first_token_ms, tokens_per_s, window } = model;
  return [
    { name: "Ready workers", text: `${num_ready_workers} of ${num_workers}` },
    { name: "Open requests", text: count(model.num_open_requests) },
    { name: "Conversations", text: count(model.num_conversations) },
    { name: "Window", text: window === null ? NONE : `${count(window)} tokens` },
    { name: "First token", text: first_token_ms === null ? NONE : duration(first_token_ms * 1000) },
    { name: "Tokens a second", text: tokens_per_s === null ? NONE : tokens_per_s.toFixed(0) },
  ];
}

/** A step of a check. */
export interface CheckStep {
  name: string;
  state: "done" | "now" | "later";
  /** Share of the step that is done; null: not known. */
  progress: number | null;
}

/** The steps of a check that is on its way. workers: of all models. */
export function checkSteps(model: RegisteredModel, workers: readonly WorkerStatus[]): CheckStep[] {
  const own = workers.filter(({ model: id }) => id === model.id);
  const loading = own.find(({ state }) => state === "loading");
  const isReady = model.num_ready_workers > 0 || own.some(({ state }) => state === "ready");
  const isAsked = model.check_request_id !== null;
  const at = isAsked || isReady ? 2 : loading ? 1 : 0;
  const names = ["A worker starts", "It loads the model", "The model writes a test answer"];
  return names.map((name, index) => ({
    name,
    state: index < at ? "done" : index === at ? "now" : "later",
    progress: index === 1 && at === 1 ? Number(loading!.progress) : null,
  }));
}

/** A check that has ended since the last look, in a sentence; empty: none has. */
export function endedText(before: readonly RegisteredModel[], now: readonly RegisteredModel[]): string {
  const checked = before.filter(({ state }) => state === "checking").map(({ id }) => id);
  const ended = now.filter(({ id, state }) => checked.includes(id) && ["enabled", "failed"].includes(state));
  return ended
    .map(({ name, state }) =>
      state === "enabled" ? `${name} is enabled: its check ended well.` : `The check of ${name} failed.`,
    )
    .join(" ");
}

/** Something of the model is about to change by itself, and is worth looking at often. */
export function isMoving({
  state,
  num_ready_workers,
  num_workers,
  num_open_requests,
}: RegisteredModel): boolean {
  if (state === "checking") return true;
  if (state === "drained" && num_open_requests > 0) return true;
  return ["enabled", "drained"].includes(state) && num_ready_workers < num_workers;
}

const MOST_ID_CHARS = 100;

/** An id for the model at a path, made of the file's name; empty: the path has none. */
export function idFrom(path: string): string {
  const file = path.trim().replace(/\/+$/, "").split("/").at(-1) ?? "";
  return file
    .toLowerCase()
    .replace(/\.gguf$/, "")
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|[-._]+$/g, "")
    .slice(0, MOST_ID_CHARS);
}
