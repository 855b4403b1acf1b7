/** What connects each client, with the reader's own address, key and model. The tests run each text. */
import continueYaml from "./snippets/continue.txt?raw";
import curlAnthropic from "./snippets/curl-anthropic.txt?raw";
import curlOpenai from "./snippets/curl-openai.txt?raw";
import llm from "./snippets/llm.txt?raw";
import mcp from "./snippets/mcp.txt?raw";
import pythonAnthropic from "./snippets/python-anthropic.txt?raw";
import pythonOpenai from "./snippets/python-openai.txt?raw";

export interface Snippet {
  id: string;
  name: string;
  /** What to do with the text. */
  use: string;
  text: string;
}

export interface Facts {
  /** Scheme, host and port. */
  address: string;
  key: string;
  model: string;
}

/** Stands where the key goes until there is one. */
export const NO_KEY = "YOUR_KEY";

const ALL: Snippet[] = [
  { id: "python-openai", name: "Python, openai", use: "pip install openai, then run:", text: pythonOpenai },
  {
    id: "python-anthropic",
    name: "Python, anthropic",
    use: "pip install anthropic, then run:",
    text: pythonAnthropic,
  },
  { id: "curl-openai", name: "curl, OpenAI's way", use: "In a shell:", text: curlOpenai },
  { id: "curl-anthropic", name: "curl, Anthropic's way", use: "In a shell:", text: curlAnthropic },
  { id: "llm", name: "llm", use: "In a shell, with the llm command:", text: llm },
  {
    id: "continue",
    name: "Continue (VS Code, JetBrains)",
    use: "In ~/.continue/config.yaml:",
    text: continueYaml,
  },
  {
    id: "mcp",
    name: "An agent, MCP",
    use: "In the settings of an agent, for it to search, read, explain, compare and replay your traces:",
    text: mcp,
  },
];

export function snippetsOf({ address, key, model }: Facts): Snippet[] {
  const values: Record<string, string> = { "{address}": address, "{key}": key || NO_KEY, "{model}": model };
  return ALL.map((each) => ({
    ...each,
    text: each.text.replace(/\{(address|key|model)\}/g, (name) => values[name]!).trimEnd(),
  }));
}
