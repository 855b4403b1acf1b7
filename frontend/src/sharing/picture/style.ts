/** The page's style sheets as one text for a picture, which can load nothing: with the fonts that are in use inside. */

const FONT_FACE = /@font-face\s*\{[^}]*\}/g;

export async function pageStyle(): Promise<string> {
  const sheets = [...document.styleSheets];
  const texts = (await Promise.all(sheets.map(written))).map((text) => text.replaceAll(FONT_FACE, ""));
  const rules = sheets.flatMap((sheet) => [...sheet.cssRules]);
  const fonts = rules.filter((rule) => rule instanceof CSSFontFaceRule).filter(isInUse);
  // A list's chunks out of sight are drawn too.
  return [
    ...(await Promise.all(fonts.map(withFile))),
    ...texts,
    "* { content-visibility: visible !important }",
  ].join("\n");
}

/** The original text: the browser's own listing of its rules lacks shorthands that hold a variable. */
async function written({ href, ownerNode }: CSSStyleSheet): Promise<string> {
  return href ? (await fetch(href)).text() : (ownerNode?.textContent ?? "");
}

/** Only the alphabets that were needed were fetched. */
function isInUse({ style }: CSSFontFaceRule): boolean {
  const plain = (text: string) => text.replaceAll(/["'\s]/g, "").toLowerCase();
  const [family, range] = ["font-family", "unicode-range"].map((name) => plain(style.getPropertyValue(name)));
  return [...document.fonts].some(
    (face) => face.status === "loaded" && plain(face.family) === family && plain(face.unicodeRange) === range,
  );
}

async function withFile(rule: CSSFontFaceRule): Promise<string> {
  const address = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue("src"))?.[1];
  if (!address) return "";
  const answer = await fetch(new URL(address, rule.parentStyleSheet?.href ?? document.baseURI));
  if (!answer.ok) return "";
  return rule.cssText.replace(address, await dataAddress(await answer.blob()));
}

function dataAddress(file: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => failed(reader.error ?? new Error("The font did not load."));
    reader.readAsDataURL(file);
  });
}
