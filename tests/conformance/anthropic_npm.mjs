// Runs the official npm package `@anthropic-ai/sdk` and prints what it found, as JSON.
import Anthropic from "@anthropic-ai/sdk";

const { address, key, model } = JSON.parse(process.env.ACCESS);
const client = new Anthropic({ baseURL: address, apiKey: key, maxRetries: 0 });
const messages = [{ role: "user", content: "What is the weather in Paris?" }];
const tools = [
  {
    name: "weather",
    description: "The weather of a city.",
    input_schema: {
      type: "object",
      properties: { city: { type: "string", maxLength: 20 } },
      required: ["city"],
      additionalProperties: false,
    },
  },
];

const story = {
  type: "object",
  properties: { story: { type: "string", minLength: 20000 } },
  required: ["story"],
};

async function create() {
  return client.messages.create({ model, max_tokens: 8, messages });
}

async function stream() {
  const texts = [];
  const events = [];
  const running = client.messages.stream({ model, max_tokens: 16, messages });
  running.on("text", (text) => texts.push(text));
  running.on("streamEvent", (event) => events.push(event.type));
  const message = await running.finalMessage();
  return { text: texts.join(""), events, message };
}

async function tool() {
  const running = client.messages.stream({
    model,
    max_tokens: 60,
    messages,
    tools,
    tool_choice: { type: "tool", name: "weather" },
  });
  const called = await running.finalMessage();
  const [call] = called.content;
  const result = { type: "tool_result", tool_use_id: call.id, content: "12 degrees, rain" };
  const turns = [
    ...messages,
    { role: "assistant", content: called.content },
    { role: "user", content: [result] },
  ];
  const answer = await client.messages.create({
    model,
    max_tokens: 16,
    messages: turns,
    tools,
    tool_choice: { type: "none" },
  });
  return { called, answer };
}

async function refused() {
  try {
    await client.messages.create({ model: "nope", max_tokens: 8, messages });
  } catch (error) {
    return {
      class: error.constructor.name,
      status: error.status,
      type: error.error.error.type,
      id: error.requestID,
    };
  }
}

async function left() {
  const running = client.messages.stream({
    model,
    max_tokens: 4000,
    messages: [{ role: "user", content: "Write a very long story about a river." }],
    // It cannot end early: the client leaves in the middle of it on any machine.
    temperature: 1,
    output_config: { format: { type: "json_schema", schema: story } },
  });
  for await (const event of running) {
    if (event.type === "content_block_delta") break;
  }
  running.abort();
  return { id: running.currentMessage?.id };
}

async function count() {
  return client.messages.countTokens({ model, messages });
}

async function batch() {
  const params = { model, max_tokens: 4, messages };
  const requests = [
    { custom_id: "good", params },
    { custom_id: "bad", params: { ...params, temperature: 7 } },
  ];
  let found = await client.messages.batches.create({ requests });
  while (found.processing_status !== "ended") {
    await new Promise((resolve) => setTimeout(resolve, 200));
    found = await client.messages.batches.retrieve(found.id);
  }
  const results = {};
  for await (const each of await client.messages.batches.results(found.id)) {
    results[each.custom_id] = each.result.type;
  }
  return { counts: found.request_counts, results };
}

const runs = { create, stream, tool, refused, left, count, batch };
console.log(JSON.stringify(await runs[process.env.RUN]()));
