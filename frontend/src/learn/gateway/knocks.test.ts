import { expect, it, describe } from "vitest";
import { crowded, doorOf, DOORS, headersOf, KNOCKS, replyText, requestText } from "./knocks";

describe("the gateway", () => {
  const refusal = (code: string) => ({ status: 400, body: { error: { code } } });

  it("finds the door at which a refusal happened, and none where nothing was refused", () => {
    expect(doorOf({ status: 200, body: {} })).toBeNull();
    expect(doorOf(refusal("csrf"))).toBe("secret");
    expect(doorOf(refusal("too_many_requests"))).toBe("room");
    expect(doorOf(refusal("empty"))).toBe("sense");
    expect(doorOf({ status: 502, body: null })).toBe("sense");
    expect(DOORS.map(({ id }) => id)).toContain("owner");
  });

  it("shows no secret, and sends none where none is to be sent", () => {
    for (const sent of KNOCKS) {
      expect(requestText(sent)).not.toContain("hunter2");
      expect(Object.values(headersOf(sent, "hunter2")).includes("hunter2")).toBe(
        sent.body !== undefined && sent.hasSecret !== false,
      );
    }
    expect(requestText(KNOCKS.find(({ hasSession }) => hasSession === false)!)).toContain("Cookie: none");
    expect(JSON.parse(crowded(8, 2).body!)).toEqual({ text: "Hello", n: 2, num_open: 8 });
  });

  it("writes a reply as the wire has it", () => {
    const headers: [string, string][] = [["retry-after", "5"]];
    const text = replyText({
      status: 429,
      statusText: "Too Many Requests",
      headers,
      body: { a: 1 },
      took: 1,
    });
    expect(text.split("\n").slice(0, 3)).toEqual(["429 Too Many Requests", "retry-after: 5", ""]);
  });
});
