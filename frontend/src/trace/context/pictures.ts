/** The pictures of a prompt in words. No tokenizer here knows their tokens. */
import { counted } from "../format";
import type { TraceView } from "../view";

/** A trace may come from elsewhere: only a digest becomes a part of an address. */
export const isDigest = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** The figures that the server reports, each unknown where it does not. */
export function pictureWords({ generation }: TraceView): string {
  const whole = generation?.num_server_prompt_tokens ?? null;
  const share = generation?.num_image_tokens ?? null;
  if (whole === null)
    return "The figures count the texts alone. The server has not reported the tokens of the pictures.";
  const told = `By the server's own count the prompt has ${counted(whole, "token")}`;
  return share === null
    ? `${told}. It does not tell how many of them are the pictures'; its chat template is its own, so no difference tells it.`
    : `${told}, ${counted(share, "token")} of them for the pictures.`;
}
