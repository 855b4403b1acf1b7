/** Two turns of an agent, as its client sends them to Anthropic's messages. */
const KEPT = { type: "ephemeral" };

const RULES =
  "You are an agent that looks after a workshop. You answer in one or two sentences. " +
  "You look a part up before you say how many there are. You never guess a number. " +
  "You name the shelf on which a part lies, and you say it when a shelf is empty.";

const FIRST = {
  model: "claude-example",
  max_tokens: 200,
  system: [{ type: "text", text: RULES, cache_control: { ...KEPT, ttl: "1h" } }],
  tools: [
    {
      name: "look_up",
      description: "Tells how many of a part there are, and where they lie.",
      input_schema: {
        type: "object",
        properties: { part: { type: "string", maxLength: 60 } },
        required: ["part"],
      },
    },
  ],
  messages: [{ role: "user", content: "How many 8 mm bolts are left?" }],
};

const SECOND = {
  ...FIRST,
  messages: [
    ...FIRST.messages,
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look it up." },
        { type: "tool_use", id: "toolu_01", name: "look_up", input: { part: "8 mm bolt" } },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_01",
          content: "shelf C4: 31 pieces",
          cache_control: KEPT,
        },
      ],
    },
  ],
};

export const EXAMPLE: readonly string[] = [FIRST, SECOND].map((body) => JSON.stringify(body, null, 2));
