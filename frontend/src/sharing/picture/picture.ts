/**
 * A part of the page as a picture that stands alone: an SVG whose foreignObject holds a copy of the elements, with the
 * page's style sheets, its fonts and its canvases' pixels. Scrolled content is there as a whole; items that a list has
 * not drawn yet are missing.
 */
import { pageStyle } from "./style";

export interface Picture {
  svg: string;
  /** CSS pixels. */
  width: number;
  height: number;
}

export interface Caption {
  title: string;
  /** The picture's owner and date. */
  note: string;
}

/** More than this no browser draws, device pixels. */
const MOST_PIXELS = 16_384;
const RATIO = 2;
const MARGIN = 16;
const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
/** Characters that XML cannot hold, which tokens may. */
const NO_XML = /[^\t\n\r\u0020-\ufffd\u{10000}-\u{10ffff}]|\p{Surrogate}/gu;

/** Copied at once; its resources load later. */
export async function pictureOf(part: HTMLElement, caption: Caption): Promise<Picture> {
  const copy = copied(part, caption);
  const { width, height } = measured(copy, part);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(height));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.dataset.theme = document.documentElement.dataset.theme;
  const style = svg.appendChild(document.createElementNS(SVG, "style"));
  style.textContent = await pageStyle();
  const hold = svg.appendChild(document.createElementNS(SVG, "foreignObject"));
  hold.setAttribute("width", "100%");
  hold.setAttribute("height", "100%");
  const body = hold.appendChild(document.createElementNS(XHTML, "body"));
  body.append(copy);
  return { svg: new XMLSerializer().serializeToString(svg).replaceAll(NO_XML, "\ufffd"), width, height };
}

/** Two device pixels to each of the page's; fewer where the picture is too long for that. */
export async function toPng({ svg, width, height }: Picture): Promise<Blob> {
  const image = new Image();
  // A canvas may be read after an SVG with HTML only where that came as a data: address.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const ratio = Math.min(RATIO, MOST_PIXELS / width, MOST_PIXELS / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) =>
    canvas.toBlob(
      (blob) => (blob ? done(blob) : failed(new Error("The picture is too large."))),
      "image/png",
    ),
  );
}

/** Below its caption, within the box that the panel's container queries ask. */
function copied(part: HTMLElement, { title, note }: Caption): HTMLElement {
  const frame = document.createElement("div");
  frame.style.cssText = `padding:${MARGIN}px;background:var(--paper);color:var(--ink);overflow:hidden`;
  const heading = frame.appendChild(document.createElement("p"));
  heading.style.cssText = "margin:0;font-weight:600";
  heading.textContent = title;
  const below = frame.appendChild(document.createElement("p"));
  below.style.cssText = "margin:0 0 12px;font-size:0.75rem;color:var(--soft)";
  below.textContent = note;
  const box = frame.appendChild(document.createElement("div"));
  box.style.containerType = "inline-size";
  box.append(likeness(part));
  return frame;
}

/** A deep copy in which everything shows that the elements themselves hold and their markup does not. */
function likeness(part: HTMLElement): HTMLElement {
  const copy = part.cloneNode(true) as HTMLElement;
  const pairs = [...part.querySelectorAll<HTMLElement>("*")];
  [...copy.querySelectorAll<HTMLElement>("*")].forEach((twin, index) => settle(pairs[index]!, twin));
  for (const extra of copy.querySelectorAll("[popover], .visually-hidden")) extra.remove();
  return copy;
}

function settle(element: HTMLElement, twin: HTMLElement): void {
  twin.removeAttribute("href");
  // A copied radio button that is checked would take the mark from its original.
  twin.removeAttribute("name");
  if (element instanceof HTMLCanvasElement) {
    const image = document.createElement("img");
    image.src = element.toDataURL();
    image.style.cssText = `${element.style.cssText};width:${element.clientWidth}px;height:${element.clientHeight}px`;
    image.className = element.className;
    twin.replaceWith(image);
  } else if (element instanceof HTMLInputElement) {
    twin.setAttribute("value", element.value);
    twin.toggleAttribute("checked", element.checked);
  } else if (element instanceof HTMLSelectElement) {
    for (const option of twin.querySelectorAll("option"))
      option.toggleAttribute("selected", option.index === element.selectedIndex);
  }
  const { overflowX, overflowY } = getComputedStyle(element);
  const isScrolled = [overflowX, overflowY].some((value) => value === "auto" || value === "scroll");
  if (isScrolled) twin.style.cssText += ";overflow:visible;max-height:none;height:auto";
}

/** Laid out out of sight, where the page's styles hold too; as wide as its widest line. */
function measured(copy: HTMLElement, part: HTMLElement): { width: number; height: number } {
  const place = document.createElement("div");
  place.inert = true;
  place.style.cssText = "position:fixed;top:0;left:-100000px;visibility:hidden";
  place.append(copy);
  document.body.append(place);
  const narrow = Math.ceil(part.getBoundingClientRect().width) + 2 * MARGIN;
  place.style.width = `${narrow}px`;
  const width = Math.max(narrow, copy.scrollWidth + (copy.scrollWidth > narrow ? MARGIN : 0));
  place.style.width = `${width}px`;
  const height = Math.ceil(copy.getBoundingClientRect().height);
  place.remove();
  return { width, height };
}
