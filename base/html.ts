// HTML pages of the server and of the command line's local server: one responsive layout for light and dark, without scripts,
// images or external resources. The server's content security policy allows only this style.

import { withUnseenAs } from "./unseen.ts";

const htmlEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes text for HTML content and quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? "");

/** Returns external text on one line, without invisible or direction-changing characters, cut to `lengthMax`. */
export const visibleText = (text: string, lengthMax: number): string => {
  const visible = withUnseenAs(text.toWellFormed(), () => " ")
    .replaceAll(/[\n\r\t\p{Z}]+/gu, " ")
    .trim();
  return visible.length > lengthMax ? `${visible.slice(0, lengthMax).toWellFormed()}…` : visible;
};

// Contrast is at least 4.5:1 for text (WCAG 2.2, 1.4.3) and 3:1 for borders of controls (1.4.11). Buttons are 44 pixels high
// (2.5.5).
/** The colours of every page as CSS properties, for light and dark. */
export const palette =
  ":root{color-scheme:light dark;--text:#1b1f24;--quiet:#57606a;--ground:#f3f5f8;--card:#fff;--edge:#d8dee4;--line:#767f89;--accent:#0b57d0;" +
  "--on-accent:#fff;--alert:#a40e26}" +
  "@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#9fa9b4;--ground:#0d1117;--card:#161b22;--edge:#30363d;--line:#7d8792;" +
  "--accent:#8ab8ff;--on-accent:#0b1a33;--alert:#ff9492}}";

export const pageStyle =
  palette +
  "*{box-sizing:border-box}" +
  "body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:clamp(1em,8vh,5em) 1em 2em;color:var(--text);background:var(--ground)}" +
  "header,main{max-width:30em;margin:0 auto}" +
  "header{display:flex;align-items:center;gap:.5em;padding:0 .25em .75em;font-weight:600}header svg{width:1.75em;height:1.75em;color:var(--accent)}" +
  "main{padding:1.5em;background:var(--card);border:1px solid var(--edge);border-radius:.75em}" +
  "h1{font-size:1.4em;line-height:1.25;margin:0 0 .6em}p{margin:.7em 0}h1,p,li,label,strong{overflow-wrap:anywhere}small{color:var(--quiet)}" +
  "ul{margin:.7em 0;padding-left:1.2em}a{color:var(--accent)}fieldset{border:0;margin:.7em 0;padding:0}legend{padding:0;font-weight:600}" +
  "label{font-weight:600}.choice{display:flex;align-items:center;gap:.6em;min-height:2.75em;font-weight:400}" +
  "input{font:inherit;color:inherit;accent-color:var(--accent)}" +
  "input:not([type]){width:100%;min-height:2.75em;margin:.25em 0;padding:.4em .7em;background:var(--card);border:1px solid var(--line);border-radius:.4em}" +
  "input[type=radio]{flex:none;width:1.25em;height:1.25em;margin:0}" +
  ".actions{display:flex;flex-wrap:wrap;gap:.75em;margin:1.2em 0 0;padding:0;list-style:none}" +
  "button,.button{display:inline-block;font:inherit;font-weight:600;min-height:2.75em;padding:.55em 1.1em;border:1px solid var(--accent);border-radius:.4em;" +
  "color:var(--on-accent);background:var(--accent);text-decoration:none;cursor:pointer}" +
  "button:hover,.button:hover{text-decoration:underline}button.secondary,.button.secondary{color:var(--text);background:none;border-color:var(--line)}" +
  ".providers{display:block}.providers li{margin:.6em 0}.providers .button{display:block;width:100%}.providers small{color:inherit;font-weight:400}" +
  ":focus-visible{outline:3px solid var(--accent);outline-offset:2px}[role=alert]{color:var(--alert);font-weight:600}" +
  ".person{margin:.7em 0;padding:.7em 1em;border:1px solid var(--edge);border-radius:.4em}.person strong{font-size:1.1em}" +
  ".person>p{margin:0}.person>.actions{margin:.7em 0 .2em}" +
  ".code{font:600 clamp(1.4em,8vw,2em)/1.2 ui-monospace,monospace;letter-spacing:.08em;margin:.7em 0}";

/** The logo: a beam on two legs with its load. */
export const mark =
  '<svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">' +
  '<path d="M2 5h20M5 5v16M19 5v16M3 21h4M17 21h4M12 5v4"/><path d="M9 9h6v6H9z" fill="currentColor"/></svg>';

/** Returns a whole page. `main` is trusted markup. */
export const layoutPage = (title: string, main: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">` +
  `<title>${escapeHtml(title)} – Gantry</title><style>${pageStyle}</style></head>` +
  `<body><header>${mark}<span>Gantry</span></header><main><h1>${escapeHtml(title)}</h1>${main}</main></body></html>\n`;

export const paragraphsHtml = (paragraphs: readonly string[]): string => paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join("");
