/**
 * The call that a client sent, from the trace alone. The page's own messages have none: theirs is the call that makes
 * the same prompt with the same settings.
 */
import type { SamplingParams, Segment, SentCall, Tool } from "../../protocol/events";
import { REDACTED_TEXT } from "../bytes";
import { eachGeneration, isEmbedding, type TraceView } from "../view";
import { membersOf, Raw, type Json } from "./json";
import { packageOf } from "./packages";
import { cacheControl, declaredIn, openaiMessage, saidIn, textBlock, type Said } from "./messages";

export interface Call {
  api: "openai" | "anthropic" | "own";
  /** Address of the site. */
  path: string;
  body: { [name: string]: Json } | Raw;
  /** Sentences on what may differ. */
  notes: string[];
}

/** A sentence instead: there is no such call. */
export type Copied = Call | string;

/** requestId: of the saved request on this server; null: the trace is not saved here. */
export function callOf(view: TraceView, requestId: string | null): Copied {
  try {
    return readCall(view, requestId);
  } catch (error) {
    if (error instanceof SyntaxError) return NOT_JSON;
    throw error;
  }
}

const NOT_JSON = "The trace is damaged: its call is no JSON, so it cannot be copied.";

function readCall(view: TraceView, requestId: string | null): Copied {
  const first = eachGeneration(view)[0]!;
  const { accepted } = view;
  if (accepted?.sent) return sentCall(view, accepted.sent);
  if (isEmbedding(view)) return "The call of this trace was removed, or it was too long to be kept.";
  if (!accepted || !first.context || !first.prompt) return "The request has no prompt yet.";
  const { segments } = first.context;
  if (segments.some(({ text }) => text === REDACTED_TEXT))
    return "The texts of this trace were removed, so it cannot be sent again from here.";
  if (segments.some(({ kind }) => kind === "image"))
    return "The request has pictures, whose bytes no trace holds, so it cannot be copied.";
  const lacking = [...(first.forked ? ["the beginning of the answer"] : []), ...lackingSettings(view)];
  if (lacking.length) return ownCall(requestId, lacking);
  if (accepted.surface === "anthropic") return messagesCall(accepted.model, accepted.params, segments);
  if (isPlain(segments)) return completionCall(accepted.model, accepted.params, first.prompt.ids);
  const call = chatCall(accepted.model, accepted.params, segments);
  return { ...call, notes: [...call.notes, ...toolNotes(accepted.features)] };
}

/** The addresses that a client calls. Another one could send the reader's key to another host. */
const PATH = /^\/(record\/[A-Za-z0-9._-]+\/)?v1\/[A-Za-z_/]+$/;

/** Throws SyntaxError where the body is no JSON object. */
function sentCall(view: TraceView, { path, body }: SentCall): Copied {
  if (!PATH.test(path)) return "The trace is damaged: its call went to no address of this API.";
  const members = new Map(membersOf(body));
  const isDrawn = !isEmbedding(view) && view.accepted!.params.temperature > 0 && !members.has("seed");
  const api = packageOf(path)?.api ?? "openai";
  return { api, path, body: new Raw(body), notes: isDrawn ? [NO_SEED] : [] };
}

const NO_SEED = "It names no seed, so the answer may differ.";

/** Settings that no field of OpenAI's body carries. */
function lackingSettings({ accepted, isStepped }: TraceView): string[] {
  const { params } = accepted!;
  if (accepted!.surface === "anthropic") return [];
  const found: [boolean, string][] = [
    [isStepped, "a person's choice of tokens"],
    [params.regex !== null, "regex"],
    [params.banned_token_ids.length > 0, "banned tokens"],
    [params.stop_on_repetition === false, "repetition allowed"],
    [params.temperature > 2, "a temperature above 2"],
    [params.max_tokens === 0, "an answer of no tokens"],
  ];
  return found.flatMap(([isLacking, name]) => (isLacking ? [name] : []));
}

/** Runs the saved prompt again, token by token. */
function ownCall(requestId: string | null, lacking: string[]): Copied {
  const what = `OpenAI's API has no field for: ${lacking.join(", ")}.`;
  if (!requestId) return `${what} This trace is not saved on this server, so it cannot be run again here.`;
  return {
    api: "own",
    path: `/api/requests/${requestId}/reruns`,
    body: { n: 1, seeds: "same" },
    notes: [
      `${what} The text runs the saved request again with this server's own API, as long as its trace is kept.`,
    ],
  };
}

const isPlain = (segments: Segment[]) =>
  segments.length === 1 && segments[0]!.source.startsWith("api:prompt");

const TOOL = "tool:";

/** The server runs its own tools for its page alone: a client gets the calls. */
function toolNotes(features: string[]): string[] {
  const names = features.filter((each) => each.startsWith(TOOL)).map((each) => each.slice(TOOL.length));
  if (!names.length) return [];
  return [
    `The server ran ${names.join(", ")} here. A client of the API gets the calls and runs them itself.`,
  ];
}

const NOT_OF_OPENAI = "Fields that OpenAI's own API lacks, such as top_k, are this server's.";

const KEPT_FOR_AN_HOUR =
  "The request kept its prompt for 5 minutes. OpenAI's breakpoints keep it for an hour, so writing it costs more.";

function chatCall(model: string, params: SamplingParams, segments: Segment[]): Call {
  const tools = declaredIn(segments);
  const said = saidIn(segments);
  const body = {
    model,
    messages: said.map(openaiMessage),
    max_completion_tokens: params.max_tokens,
    ...openaiSettings(params),
    ...(params.json_schema !== null && { response_format: responseFormat(params.json_schema) }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: {
          name,
          ...(description && { description }),
          parameters: new Raw(parameters),
          ...(isStrict(params, name) && { strict: true }),
        },
      })),
      ...openaiChoice(params, tools.length),
    }),
  };
  const isShort = said.some(({ parts }) => parts.some(({ breakpoint }) => breakpoint === "5m"));
  const notes = isShort ? [NOT_OF_OPENAI, KEPT_FOR_AN_HOUR] : [NOT_OF_OPENAI];
  return { api: "openai", path: "/v1/chat/completions", body, notes };
}

function completionCall(model: string, params: SamplingParams, ids: number[]): Call {
  const body = { model, prompt: ids, max_tokens: params.max_tokens, ...openaiSettings(params) };
  const notes = ["The prompt is given as tokens, so that each stays as it was.", NOT_OF_OPENAI];
  return { api: "openai", path: "/v1/completions", body, notes };
}

function openaiSettings(params: SamplingParams): { [name: string]: Json } {
  return {
    temperature: params.temperature,
    top_p: params.top_p,
    top_k: params.top_k,
    min_p: params.min_p,
    typical_p: params.typical_p,
    repetition_penalty: params.repetition_penalty,
    ...drySettings(params),
    frequency_penalty: params.frequency_penalty,
    presence_penalty: params.presence_penalty,
    ...(params.logit_bias.length > 0 && {
      logit_bias: Object.fromEntries(params.logit_bias.map(({ id, bias }) => [String(id), bias])),
    }),
    ...(params.stop.length > 0 && { stop: params.stop }),
    ...(params.stop_token_ids.length > 0 && { stop_token_ids: params.stop_token_ids }),
    ...(params.seed !== null && { seed: params.seed }),
  };
}

/** Traces from before DRY have none. */
function drySettings(params: SamplingParams): { [name: string]: Json } {
  if (!params.dry_multiplier) return { dry_multiplier: 0 };
  return {
    dry_multiplier: params.dry_multiplier,
    dry_base: params.dry_base,
    dry_allowed_length: params.dry_allowed_length,
    dry_penalty_last_n: params.dry_penalty_last_n,
    dry_sequence_breakers: params.dry_sequence_breakers,
  };
}

const responseFormat = (schema: string): Json => ({
  type: "json_schema",
  json_schema: { name: "answer", schema: new Raw(schema) },
});

function isStrict({ tool_calls }: SamplingParams, name: string): boolean {
  return tool_calls?.tools.find((tool: Tool) => tool.name === name)?.is_strict ?? false;
}

/** The tool that the answer had to call; null: it had a choice. */
function named({ tool_calls }: SamplingParams, numDeclared: number): string | null {
  const [only, ...others] = tool_calls?.tools ?? [];
  return only && !others.length && tool_calls!.is_required && numDeclared > 1 ? only.name : null;
}

function openaiChoice(params: SamplingParams, numDeclared: number): { [name: string]: Json } {
  const calls = params.tool_calls;
  if (!calls) return { tool_choice: "none" };
  const name = named(params, numDeclared);
  if (name) return { tool_choice: { type: "function", function: { name } } };
  return { tool_choice: calls.is_required ? "required" : "auto", parallel_tool_calls: calls.is_parallel };
}

function messagesCall(model: string, params: SamplingParams, segments: Segment[]): Call {
  const said = saidIn(segments);
  const numSystem = said.findIndex(({ role }) => role !== "system");
  const [system, messages] = numSystem < 0 ? [said, []] : [said.slice(0, numSystem), said.slice(numSystem)];
  const tools = toolBlocks(params, segments);
  const body = {
    model,
    max_tokens: params.max_tokens,
    ...(system.length > 0 && { system: system.flatMap(({ parts }) => parts.map(textBlock)) }),
    messages: messages.map(({ role, parts }: Said) => ({ role, content: parts.map(textBlock) })),
    temperature: Math.min(1, params.temperature),
    top_p: params.top_p,
    ...(params.top_k > 0 && { top_k: params.top_k }),
    ...(params.stop.length > 0 && { stop_sequences: params.stop }),
    ...(params.json_schema !== null && {
      output_config: { format: { type: "json_schema", schema: new Raw(params.json_schema) } },
    }),
    ...(tools.length > 0 && { tools, tool_choice: anthropicChoice(params, tools.length) }),
  };
  const seedNote = "Anthropic's API takes no seed: the prompt is the same, and the answer may differ.";
  return {
    api: "anthropic",
    path: "/v1/messages",
    body,
    notes: params.temperature === 0 || params.max_tokens === 0 ? [] : [seedNote],
  };
}

function toolBlocks(params: SamplingParams, segments: Segment[]): Json[] {
  const declared = declaredIn(segments);
  const ttl = segments.find(({ kind }) => kind === "tools")?.breakpoint;
  return declared.map(({ name, description, parameters }, index) => ({
    name,
    ...(description && { description }),
    input_schema: new Raw(parameters),
    ...(isStrict(params, name) && { strict: true }),
    ...(ttl && index === declared.length - 1 && { cache_control: cacheControl(ttl) }),
  }));
}

function anthropicChoice(params: SamplingParams, numDeclared: number): Json {
  const calls = params.tool_calls;
  if (!calls) return { type: "none" };
  const name = named(params, numDeclared);
  const type = name ? "tool" : calls.is_required ? "any" : "auto";
  return { type, ...(name && { name }), disable_parallel_tool_use: !calls.is_parallel };
}
