// What OpenAI's npm client gets from the running product, as one JSON object.
// Takes the client's module, the address, the key and the model.
const [module, baseURL, apiKey, model] = process.argv.slice(2)
const { default: OpenAI } = await import(module)
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
const messages = [{ role: 'user', content: 'What is the capital of France?' }]
const long = 'Write a very long story about the sea.'
const tool = {
  type: 'function',
  function: {
    name: 'weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}

async function chat() {
  const answer = await client.chat.completions.create({ model, messages, temperature: 0 })
  return answer.choices[0].message.content
}

async function chatStream() {
  const stream = client.chat.completions.stream({ model, messages, temperature: 0 })
  return stream.finalContent()
}

async function toolRound() {
  const cities = []
  const runner = client.chat.completions.runTools({
    model,
    messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
    tools: [
      {
        type: 'function',
        function: {
          ...tool.function,
          parse: JSON.parse,
          function: ({ city }) => {
            cities.push(city)
            return '12 degrees, rain'
          },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    max_completion_tokens: 60,
    temperature: 0,
  })
  await runner.done()
  return cities
}

async function response() {
  const answer = await client.responses.create({ model, input: messages[0].content, temperature: 0 })
  const again = await client.responses.retrieve(answer.id)
  return { text: answer.output_text, isSame: JSON.stringify(again.output) === JSON.stringify(answer.output) }
}

async function responseStream() {
  const stream = client.responses.stream({ model, input: messages[0].content, temperature: 0 })
  return (await stream.finalResponse()).output_text
}

async function resumed() {
  const stream = await client.responses.create({
    model,
    input: long,
    background: true,
    stream: true,
    max_output_tokens: 120,
  })
  const numbers = []
  let id
  for await (const event of stream) {
    id ??= event.response.id
    numbers.push(event.sequence_number)
    if (numbers.length === 6) break
  }
  const rest = await client.responses.retrieve(id, { stream: true, starting_after: numbers.at(-1) })
  let last
  for await (const event of rest) {
    numbers.push(event.sequence_number)
    last = event
  }
  return { isWhole: numbers.every((number, index) => number === index), last: last.type, status: last.response.status }
}

async function cancelled() {
  const answer = await client.responses.create({ model, input: long, background: true, max_output_tokens: 4000 })
  return (await client.responses.cancel(answer.id)).status
}

async function left() {
  const stream = await client.chat.completions.create({ model, messages, stream: true })
  for await (const _ of stream) stream.controller.abort()
  return stream.controller.signal.aborted
}

async function refused() {
  try {
    await client.chat.completions.create({ model: 'nothing', messages })
  } catch (error) {
    return { is404: error instanceof OpenAI.NotFoundError, code: error.code, param: error.param }
  }
}

async function others() {
  const embedded = await client.embeddings.create({ model: 'all-minilm-l6-v2', input: ['a', 'b'] })
  const completed = await client.completions.create({
    model,
    prompt: 'The capital of France is',
    temperature: 0,
    max_tokens: 4,
  })
  const models = []
  for await (const each of client.models.list()) models.push(each.id)
  return { numDimensions: embedded.data[1].embedding.length, text: completed.choices[0].text, models }
}

async function batch() {
  const body = { model, messages, max_tokens: 4 }
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body }
  const file = await client.files.create({
    file: await OpenAI.toFile(Buffer.from(JSON.stringify(line)), 'calls.jsonl'),
    purpose: 'batch',
  })
  let made = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  while (!['completed', 'failed'].includes(made.status)) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    made = await client.batches.retrieve(made.id)
  }
  const content = await (await client.files.content(made.output_file_id)).text()
  return { counts: made.request_counts, kind: JSON.parse(content).response.body.object }
}

const found = {}
for (const work of [chat, chatStream, toolRound, response, responseStream, resumed, cancelled, left, refused, others, batch]) {
  found[work.name] = await work()
}
console.log(JSON.stringify(found))
