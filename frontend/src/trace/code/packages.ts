/** The Python packages that send a call, by its address, and the fields that each takes by name. */
import type { Json } from "./json";

export interface Package {
  api: "openai" | "anthropic";
  /** The end of the address, which the package adds itself. */
  ending: string;
  create: string;
  /** The part of the answer to print. */
  shown: string;
  /** Of the fields that each version of the package knows. The others are sent beside. */
  names: readonly string[];
  /** Values that the package would replace by others where they are absent. */
  defaults: { [name: string]: Json };
}

const SAMPLED = ["model", "temperature", "top_p", "stream", "user"];
const CHOSEN = ["frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n", "presence_penalty", "seed"];

const PACKAGES: Package[] = [
  {
    api: "openai",
    ending: "/chat/completions",
    create: "chat.completions.create",
    shown: "choices[0].message",
    names: [
      ...SAMPLED,
      ...CHOSEN,
      ...["messages", "max_completion_tokens", "metadata", "parallel_tool_calls", "response_format", "stop"],
      ...["store", "stream_options", "tool_choice", "tools", "top_logprobs"],
    ],
    defaults: {},
  },
  {
    api: "openai",
    ending: "/completions",
    create: "completions.create",
    shown: "choices[0].text",
    names: [...SAMPLED, ...CHOSEN, "prompt", "best_of", "echo", "stop", "stream_options", "suffix"],
    defaults: {},
  },
  {
    api: "openai",
    ending: "/responses",
    create: "responses.create",
    shown: "output",
    names: [
      ...SAMPLED,
      ...["background", "include", "input", "instructions", "max_output_tokens", "metadata", "text", "tools"],
      ...["parallel_tool_calls", "previous_response_id", "reasoning", "store", "tool_choice", "truncation"],
    ],
    defaults: {},
  },
  {
    api: "openai",
    ending: "/embeddings",
    create: "embeddings.create",
    shown: "usage",
    names: ["model", "input", "dimensions", "encoding_format", "user"],
    // The package asks for base64 by itself.
    defaults: { encoding_format: "float" },
  },
  {
    api: "anthropic",
    ending: "/v1/messages",
    create: "messages.create",
    shown: "content",
    names: [
      ...["model", "max_tokens", "messages", "system", "stop_sequences", "stream", "tools", "tool_choice"],
      ...["cache_control", "metadata", "output_config", "service_tier", "thinking"],
    ],
    defaults: {},
  },
];

/** Null: no package sends to this address. */
export const packageOf = (path: string): Package | null =>
  PACKAGES.find(({ ending }) => path.endsWith(ending)) ?? null;
