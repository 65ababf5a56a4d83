// Layout of a page. Reading and searching work without script; script adds sign-in, requests and copying (browser/page.js). The
// contents are a popover, so opening and closing need no script.

import { escapeHtml, mark } from "#base/html.ts";
import type { PageFiles } from "./files.ts";

export interface Link {
  readonly href: string;
  readonly text: string;
  /** Links shown below it while it or one of them is the current page. */
  readonly below?: readonly Link[];
}

export interface Section {
  readonly title: string;
  readonly links: readonly Link[];
}

/** Common to all pages of a server. */
export interface Frame {
  readonly files: PageFiles;
  /** Public URL, the issuer of its tokens. */
  readonly issuer: string;
  readonly hasConsole: boolean;
}

export interface DocsPage {
  readonly path: string;
  readonly title: string;
  /** Trusted markup with the only h1. */
  readonly main: string;
  readonly query?: string;
}

const isWithin = (link: Link, path: string): boolean => link.href === path || (link.below ?? []).some((each) => isWithin(each, path));

const linkHtml = (link: Link, path: string): string => {
  const current = link.href === path ? ' aria-current="page"' : "";
  const below = link.below?.length && isWithin(link, path) ? linksHtml(link.below, path) : "";
  return `<li><a href="${escapeHtml(link.href)}"${current}>${escapeHtml(link.text)}</a>${below}</li>`;
};

const linksHtml = (links: readonly Link[], path: string): string => `<ul>${links.map((link) => linkHtml(link, path)).join("")}</ul>`;

const sectionHtml = ({ title, links }: Section, path: string, isOpen: boolean): string =>
  `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary>${linksHtml(links, path)}</details>`;

const contentsHtml = (sections: readonly Section[], path: string): string => {
  const current = sections.findIndex(({ links }) => links.some((link) => isWithin(link, path)));
  return sections.map((section, index) => sectionHtml(section, path, index === Math.max(0, current))).join("");
};

/** Renders links to the previous and next pages of the contents. */
export const pagerHtml = (previous: Link | undefined, next: Link | undefined): string => {
  const link = (label: string, to: Link | undefined): string =>
    to === undefined ? "" : `<a href="${escapeHtml(to.href)}" class="${label.toLowerCase()}"><small>${label}</small> ${escapeHtml(to.text)}</a>`;
  return previous || next ? `<nav class="pager" aria-label="Previous and next page">${link("Previous", previous)}${link("Next", next)}</nav>` : "";
};

/** Renders the sections of a page with several. */
export const onPageHtml = (headings: readonly { readonly level: number; readonly text: string; readonly id: string }[]): string => {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length < 2) return "";
  const links = sections.map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`);
  return `<nav class="on-page" aria-label="On this page"><h2>On this page</h2><ul>${links.join("")}</ul></nav>`;
};

/** Shown by the script, which alone can use tokens. */
const accountHtml =
  '<button type="button" class="secondary" id="account" aria-haspopup="dialog" hidden>Sign in</button>' +
  '<dialog id="account-dialog" aria-labelledby="account-title"><h2 id="account-title">Sign in</h2>' +
  '<div id="account-out"><p>Requests use a token. Only this page keeps it, until you leave or reload the page, and sends it only to this server.</p>' +
  '<p class="actions"><button type="button" id="sign-in">Sign in with the browser</button></p>' +
  '<form id="paste"><label for="token">Or paste a token</label>' +
  '<textarea id="token" rows="4" autocomplete="off" autocapitalize="off" spellcheck="false" required></textarea>' +
  '<p class="actions"><button class="secondary">Use this token</button></p></form></div>' +
  '<div id="account-in" hidden><p class="person" id="whose"></p>' +
  '<p id="sample-group-field" hidden><label for="sample-group">Group in samples</label><select id="sample-group"></select></p>' +
  '<p class="actions"><button type="button" id="forget">Remove the token</button></p></div>' +
  '<p role="status" id="account-status"></p><p class="actions"><button type="button" class="secondary" id="account-close">Close</button></p></dialog>';

const headHtml = (files: PageFiles, title: string): string =>
  '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">' +
  `<title>${escapeHtml(title)} – Gantry</title><link rel="icon" href="${files.icon}" type="image/svg+xml"><link rel="stylesheet" href="${files.style}">` +
  `${files.scripts.map((script) => `<script type="module" src="${script}"></script>`).join("")}</head>`;

/** Renders a whole page with the contents. */
export const docsPageHtml = ({ files, issuer, hasConsole }: Frame, sections: readonly Section[], { path, title, main, query = "" }: DocsPage): string =>
  `<!doctype html><html lang="en">${headHtml(files, title)}<body data-issuer="${escapeHtml(issuer)}"><a class="skip" href="#main">Skip to the page</a>` +
  `<header><a class="home" href="/docs">${mark}<span>Gantry</span></a>` +
  '<button type="button" class="secondary" id="contents-button" popovertarget="contents">Contents</button>' +
  '<form role="search" action="/docs/search"><label class="unseen" for="search">Search guides and reference</label>' +
  `<div class="field-with-list"><input type="search" id="search" name="q" maxlength="100" placeholder="Search" value="${escapeHtml(query)}">` +
  '<ul id="suggestions" hidden></ul></div><button class="secondary">Search</button><p id="suggested" role="status" class="unseen"></p></form>' +
  `${hasConsole ? '<a class="console" href="/console">Console</a>' : ""}${accountHtml}</header>` +
  `<nav id="contents" popover aria-label="Contents">${contentsHtml(sections, path)}</nav>` +
  `<main id="main" tabindex="-1">${main}</main></body></html>\n`;

/** Renders the final page of a sign-in window. */
export const signedInHtml = (files: PageFiles): string =>
  `<!doctype html><html lang="en" class="signed-in">${headHtml(files, "Sign-in")}<body><main id="main"><h1>Sign-in</h1>` +
  '<p role="status" id="signed-in">The result goes to the page that started this sign-in.</p></main></body></html>\n';
