/** Whether a key press sends the message. An Enter that confirms an input method's candidate never does. */
export function isSendKey(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "isComposing" | "keyCode">,
): boolean {
  // Safari reports the confirming Enter after the composition has ended, with key code 229.
  return event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
}
