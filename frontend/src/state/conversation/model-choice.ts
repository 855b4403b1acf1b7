/** The change of a conversation to another model. */
import { api } from "../../transport/api";
import type { Chat, Defaults } from "./chat.svelte";
import { refusalOf } from "./settings";

/** Have another model answer the next messages. Settings that are the former one's own become the new one's. */
export async function chooseModel(chat: Chat, model: Defaults, former: Defaults | undefined): Promise<void> {
  await chat.opened();
  const { conversation } = chat;
  const before = { model: chat.model, params: chat.params, systemPrompt: chat.systemPrompt };
  Object.assign(chat, { model: model.id, ...settingsWith(chat, model, former) });
  chat.problem = null;
  if (!conversation) return;
  const change = { model: model.id, ...chat.asking, system_prompt: chat.systemPrompt };
  const choosing = (chat.choosing = api.changeConversation(conversation.id, change));
  try {
    await choosing;
    Object.assign(conversation, { model: model.id, system_prompt: change.system_prompt });
  } catch (error) {
    if (chat.choosing === choosing) Object.assign(chat, before);
    const { message, setting } = refusalOf(error);
    chat.problem = { message: `The model was not changed: ${message}`, setting };
  }
  if (chat.choosing === choosing) chat.choosing = null;
}

function settingsWith({ params, systemPrompt }: Chat, model: Defaults, former: Defaults | undefined) {
  const isUsual = JSON.stringify(params) === JSON.stringify(former?.default_params);
  const isUsualPrompt = systemPrompt === former?.default_system_prompt;
  return {
    params: isUsual ? { ...model.default_params } : params,
    systemPrompt: isUsualPrompt ? model.default_system_prompt : systemPrompt,
  };
}
