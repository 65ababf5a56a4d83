// Browser part of the docs pages: sign-in, requests, copying. Plain JavaScript with checked types
// (server/docs/browser/tsconfig.json).
//
// The token is only in a variable: not in storage, cookies, URLs or elements. A reload loses it, so while there is one, links within
// the docs replace the page's content instead. Requests go only to this origin, checked before each one and enforced by the content
// policy.

/**
 * @template {Element} E
 * @param {string} selector
 * @param {new () => E} type
 * @param {ParentNode} within
 * @returns {E | undefined}
 */
const find = (selector, type, within = document) => {
  const found = within.querySelector(selector);
  return found instanceof type ? found : undefined;
};

/** @param {string} text @param {string} selector @param {boolean} isBad */
const say = (selector, text, isBad = false) => {
  const place = find(selector, HTMLElement);
  if (!place) return;
  place.textContent = text;
  place.classList.toggle("bad", isBad);
};

/** @param {unknown} thrown */
const thrownMessage = (thrown) => (thrown instanceof Error ? thrown.message : String(thrown));

// ---- token ----------------------------------------------------------------------------------------------------

/**
 * @typedef {{ readonly text: string, readonly whose: string, readonly details: string, readonly endsMs: number }} HeldToken
 * @type {HeldToken | undefined}
 */
let held;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let ending;

/** @param {string} text @returns {Record<string, unknown>} */
const claimsOf = (text) => {
  const [, payload = "", signature] = text.split(".");
  if (signature === undefined) throw new Error("This is not a token: a token has three parts separated by dots.");
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims === "object" && claims !== null) return claims;
  } catch {
    // Handled below.
  }
  throw new Error("This is not a token: its second part cannot be read.");
};

/** @param {string} text @returns {HeldToken} */
const heldTokenOf = (text) => {
  const claims = claimsOf(text);
  const { sub, email, exp, iss, act } = claims;
  const actor = typeof act === "object" && act !== null ? Object(act) : {};
  const subject = typeof sub === "string" ? sub : "nobody";
  const names = [email, actor.email].filter((name) => typeof name === "string" && name !== "");
  const whose = String(names[0] ?? subject);
  const endsMs = typeof exp === "number" ? exp * 1000 : Number.POSITIVE_INFINITY;
  if (endsMs <= Date.now()) throw new Error("This token has expired.");
  const until = Number.isFinite(endsMs) ? `\nUntil ${new Date(endsMs).toLocaleTimeString()}` : "";
  return { text, whose, endsMs, details: `${whose}${whose === subject ? "" : `\n${subject}`}\nIssued by ${String(iss ?? "?")}${until}` };
};

const showAccount = () => {
  const button = find("#account", HTMLButtonElement);
  if (!button) return;
  button.hidden = false;
  const state = document.createElement("span");
  state.className = "unseen";
  state.textContent = "Signed in: ";
  button.replaceChildren(...(held ? [state, held.whose] : ["Sign in"]));
  say("#account-title", held ? "Signed in" : "Sign in");
  say("#whose", held?.details ?? "");
  const [out, inside] = [find("#account-out", HTMLElement), find("#account-in", HTMLElement)];
  if (out) out.hidden = held !== undefined;
  if (inside) inside.hidden = held === undefined;
};

/** @param {string} why */
const forgetToken = (why, isBad = false) => {
  held = undefined;
  groups = [];
  repos = [];
  clearTimeout(ending);
  showAccount();
  showGroups();
  say("#account-status", why, isBad);
};

const timerMax = 2 ** 31 - 1;

/** Sends no credentials, stores no response, and follows no redirect. @returns {RequestInit} */
const bareRequest = () => ({
  credentials: "omit",
  cache: "no-store",
  redirect: "error",
  referrerPolicy: "no-referrer",
  signal: AbortSignal.timeout(timeoutMs),
});

/** Asks the server whether it accepts the token, and for the user's name. @param {HeldToken} token */
const askWhose = async (token) => {
  const response = await fetch("/auth/v1/ok", {
    ...bareRequest(),
    headers: { authorization: `Bearer ${token.text}` },
  });
  const answer = await response.json();
  if (held !== token) return;
  if (response.status === 401) forgetToken(`The server refused the token: ${String(answer.message)}.`, true);
  const name = answer.profile?.name;
  if (!response.ok || typeof name !== "string" || name === "") return;
  held = { ...token, whose: name, details: `${name}\n${token.details}` };
  showAccount();
};

/** @param {string} text */
const holdToken = (text) => {
  try {
    held = heldTokenOf(text.trim());
  } catch (thrown) {
    say("#account-status", thrownMessage(thrown), true);
    return;
  }
  clearTimeout(ending);
  ending = setTimeout(() => forgetToken("The token has expired: sign in again."), Math.min(timerMax, held.endsMs - Date.now()));
  showAccount();
  say("#account-status", "Requests use this token.");
  find("#forget", HTMLButtonElement)?.focus();
  // A failed request says nothing about the token.
  askWhose(held).catch(() => {});
  askGroups(held).catch(() => {});
};

// ---- the user's groups -----------------------------------------------------------------------------------------
//
// The samples name a group: the first organization of a new server in guides, a placeholder in the reference. After a sign-in they
// name one of the user's groups, and path fields for a group or repository offer all of them by name.

/**
 * @typedef {{ readonly uid: string, readonly name: string }} Group
 * @type {readonly Group[]}
 */
let groups = [];

const sampleName = "first-organization";

/** Texts of samples before they named a group. @type {WeakMap<Node, string>} */
const samples = new WeakMap();

/** @param {HeldToken} token */
const askGroups = async (token) => {
  const response = await fetch("/iam/v2/groups?page_size=100&order_by=name", { ...bareRequest(), headers: { authorization: `Bearer ${token.text}` } });
  const answer = response.ok ? await response.json() : {};
  if (held?.text !== token.text || !Array.isArray(answer.groups)) return;
  groups = answer.groups.map((/** @type {Record<string, unknown>} */ { uid, name }) => ({ uid: String(uid), name: String(name) }));
  showGroups();
};

const showGroups = () => {
  const organizations = groups.filter(({ uid }) => !uid.includes("/"));
  const choice = find("#sample-group", HTMLSelectElement);
  const place = find("#sample-group-field", HTMLElement);
  if (!choice || !place) return;
  choice.replaceChildren(...organizations.map(({ uid, name }) => new Option(name, uid, name === sampleName, name === sampleName)));
  place.hidden = organizations.length === 0;
  fillGroups();
};

/** Repositories of the user, read when a form first offers them. @type {readonly Group[]} */
let repos = [];

/** @param {HeldToken} token */
const askRepos = async (token) => {
  const response = await fetch("/registry/v2/repos?page_size=100&order_by=name", { ...bareRequest(), headers: { authorization: `Bearer ${token.text}` } });
  const answer = response.ok ? await response.json() : {};
  if (held?.text !== token.text || !Array.isArray(answer.repos)) return;
  repos = answer.repos.map((/** @type {Record<string, unknown>} */ { uid, name }) => ({ uid: String(uid), name: String(name) }));
};

/** "acme/team/app", as far as the names are known. @param {Group} resource */
const pathOfNames = ({ uid, name }) => {
  const parts = uid.split("/");
  const names = parts.slice(0, -1).map((part, index) => groups.find((each) => each.uid === parts.slice(0, index + 1).join("/"))?.name ?? part);
  return [...names, name].join("/");
};

/** Offers resources for a path field by their paths of names. @param {HTMLFormElement} form @param {HTMLSelectElement} picker */
const fillPicker = (form, picker) => {
  const field = find(`#${picker.dataset.for}`, HTMLInputElement, form);
  const offered = (picker.dataset.picks === "repos" ? repos : groups).map((each) => ({ uid: each.uid, path: pathOfNames(each) }));
  picker.replaceChildren(
    new Option("Choose by name …", ""),
    ...offered.toSorted((one, other) => (one.path < other.path ? -1 : 1)).map(({ uid, path }) => new Option(path, uid, false, uid === field?.value)),
  );
  picker.hidden = offered.length === 0;
  picker.onchange = () => {
    if (field && picker.value !== "") field.value = picker.value;
    showCommand(form);
  };
};

const fillGroups = () => {
  const uid = find("#sample-group", HTMLSelectElement)?.value;
  const group = groups.find((each) => each.uid === uid);
  const form = find("form.try", HTMLFormElement);
  const pickers = [...(form?.querySelectorAll("select.picker") ?? [])].filter((each) => each instanceof HTMLSelectElement);
  const picksGroup = pickers.find(({ dataset }) => dataset.picks === "groups");
  for (const block of document.querySelectorAll(".code.copy code")) {
    const isSample = picksGroup !== undefined && !form?.contains(block);
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const text = samples.get(node) ?? node.nodeValue ?? "";
      const filled = group ? text.replaceAll(sampleName, () => group.name) : text;
      const next = group && isSample ? filled.replaceAll(/(?<=[/"])(?:PARENT|GROUP|GROUP_UID|UID)(?=[/":?])/g, () => group.uid) : filled;
      if (next === node.nodeValue) continue;
      samples.set(node, text);
      node.nodeValue = next;
    }
  }
  if (!form) return;
  const field = picksGroup && find(`#${picksGroup.dataset.for}`, HTMLInputElement, form);
  if (group && field?.value === "") field.value = group.uid;
  for (const picker of pickers) fillPicker(form, picker);
  showCommand(form);
  if (held && repos.length === 0 && pickers.some(({ dataset }) => dataset.picks === "repos"))
    askRepos(held)
      .then(() => repos.length > 0 && fillGroups())
      .catch(() => {});
};

// ---- sign-in with the browser ---------------------------------------------------------------------------------
//
// Authorization code grant with PKCE, in a separate window, so that this page stays. The window ends at /docs/signed-in, which
// broadcasts the code to pages of this origin. Only the page that started it has the matching state and verifier, which never leave
// it.

const channelName = "gantry-docs-sign-in";
const redirectPath = "/docs/signed-in";

/** @type {{ readonly state: string, readonly verifier: string } | undefined} */
let pending;

/** @param {Uint8Array} bytes */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** The server's own name, the issuer of its tokens. */
const issuer = document.body.dataset.issuer ?? location.origin;
const client = () => ({ client_id: new URL("/docs", issuer).href, redirect_uri: new URL(redirectPath, issuer).href });

const signIn = async () => {
  if (new URL(issuer).origin !== location.origin) {
    say("#account-status", `Sign-in works only at the server's own address: open ${new URL("/docs", issuer).href}, or paste a token.`, true);
    return;
  }
  if (!crypto.subtle) {
    say("#account-status", "Sign-in in the browser requires TLS, or a server on this computer. Paste a token instead.", true);
    return;
  }
  const [state, verifier] = [randomText(), randomText()];
  const challenge = base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
  const asked = { ...client(), response_type: "code", code_challenge: challenge, code_challenge_method: "S256", state };
  pending = { state, verifier };
  const opened = window.open(`/oauth/authorize?${new URLSearchParams(asked)}`, "_blank", "popup,width=560,height=760");
  say(
    "#account-status",
    opened ? "Continue in the new window." : "The browser blocked the sign-in window. Allow pop-ups for this page, and try again.",
    !opened,
  );
};

/** @param {string} code @param {string} verifier */
const exchangeCode = async (code, verifier) => {
  const response = await fetch("/oauth/token", {
    ...bareRequest(),
    method: "POST",
    body: new URLSearchParams({ ...client(), grant_type: "authorization_code", code, code_verifier: verifier }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(String(answer.error_description ?? answer.error));
  holdToken(String(answer.access_token));
};

const listenForSignIns = () => {
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", ({ data }) => {
    if (!pending || typeof data !== "object" || data === null || data.state !== pending.state) return;
    const { verifier } = pending;
    pending = undefined;
    channel.postMessage({ taken: data.state });
    // RFC 9207: checks the issuer of the response.
    if (data.iss !== issuer) say("#account-status", "Not signed in: the response is from another issuer.", true);
    else if (typeof data.code === "string")
      exchangeCode(data.code, verifier).catch((thrown) => say("#account-status", `Not signed in: ${thrownMessage(thrown)}`, true));
    else say("#account-status", `Not signed in: ${String(data.description ?? data.error ?? "the sign-in ended without a code")}`, true);
  });
};

/** Broadcasts the result of a sign-in and closes the window. */
const endSignIn = () => {
  const told = new URLSearchParams(location.search);
  const [state, code, iss, error, description] = ["state", "code", "iss", "error", "error_description"].map((name) => told.get(name));
  // Removes the result from the URL and the history.
  history.replaceState(null, "", redirectPath);
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener("message", ({ data }) => {
    if (typeof data !== "object" || data === null || data.taken !== state) return;
    say("#signed-in", "You can close this window and continue in the previous one.");
    window.close();
  });
  channel.postMessage({ state, code, iss, error, description });
};

// ---- requests -------------------------------------------------------------------------------------------------

/**
 * @typedef {{ readonly url: URL, readonly method: string, readonly headers: Record<string, string>, readonly body: string | undefined }} Request
 */

const shownMax = 200_000;
const timeoutMs = 60_000;

/** @param {string} value */
const pathPart = (value) => {
  const parts = value.split("/");
  if (parts.some((part) => /^(?:\.|%2e){1,2}$/i.test(part))) throw new Error("A path value cannot contain . or .. as a part.");
  return parts.map(encodeURIComponent).join("/");
};

/** Builds the form's request. @param {HTMLFormElement} form @returns {Request} */
const requestOf = (form) => {
  let path = form.dataset.path ?? "/";
  const query = new URLSearchParams();
  /** @type {Record<string, string>} */
  const headers = { accept: "application/json" };
  for (const field of form.querySelectorAll("[data-place]")) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement || field instanceof HTMLTextAreaElement)) continue;
    const { place = "", name = "", list } = field.dataset;
    const value = field.value.trim();
    if (place === "path") path = path.replaceAll(`{${name}}`, pathPart(value));
    else if (value === "") continue;
    else if (place === "header") headers[name] = value;
    else for (const each of list === undefined ? [value] : value.split("\n").map((line) => line.trim())) if (each !== "") query.append(name, each);
  }
  const search = query.size > 0 ? `?${query}` : "";
  // An empty last path parameter addresses the root.
  while (path.length > 1 && path.endsWith("/")) path = path.slice(0, -1);
  const url = new URL(path + search, location.origin);
  if (url.origin !== location.origin) throw new Error("The path leads to another server.");
  const text = find(".body", HTMLTextAreaElement, form)?.value;
  if (text !== undefined && form.dataset.type !== undefined) headers["content-type"] = form.dataset.type;
  return { url, method: form.dataset.verb ?? "GET", headers, body: text };
};

/** @param {string} text */
const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {Request} request @param {boolean} open */
const curlOf = ({ url, method, headers, body }, open) =>
  [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${shellQuoted(url.href)}`,
    ...(open ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...Object.entries(headers)
      .filter(([name]) => name !== "accept")
      .map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ].join(" \\\n  ");

/** @param {HTMLFormElement} form */
const showCommand = (form) => {
  const place = find(".command code", HTMLElement, form);
  if (!place) return;
  try {
    place.textContent = curlOf(requestOf(form), form.dataset.open !== undefined);
  } catch (thrown) {
    place.textContent = thrownMessage(thrown);
  }
};

/** @param {Response} response */
const readAnswer = async (response) => {
  const type = response.headers.get("content-type") ?? "";
  if (!/json|text|xml|yaml/i.test(type)) {
    await response.body?.cancel();
    return { shown: type === "" ? "" : `(content of type ${type})`, next: "" };
  }
  const text = await response.text();
  if (text.length > shownMax) return { shown: `${text.slice(0, shownMax)}\n… and ${text.length - shownMax} more characters`, next: "" };
  try {
    const value = JSON.parse(text);
    const next = typeof value === "object" && value !== null && typeof value.nextPageToken === "string" ? value.nextPageToken : "";
    return { shown: JSON.stringify(value, undefined, 2), next };
  } catch {
    return { shown: text, next: "" };
  }
};

/** @param {HTMLFormElement} form @param {Response} response @param {string} shown */
const showAnswer = (form, response, shown) => {
  const place = find(".answer", HTMLElement, form);
  const list = find(".headers", HTMLElement, form);
  const body = find(".answer > pre", HTMLElement, form);
  if (!place || !list || !body) return;
  list.replaceChildren(
    ...[...response.headers].flatMap(([name, value]) => {
      const [term, description] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      description.textContent = value;
      return [term, description];
    }),
  );
  body.textContent = shown;
  body.hidden = shown === "";
  place.hidden = false;
};

/** Offers the next page of a list. @param {HTMLFormElement} form @param {string} next */
const offerNextPage = (form, next) => {
  find(".next-page", HTMLButtonElement, form)?.remove();
  const field = find('[data-name="page_token"], [data-name="pageToken"]', HTMLInputElement, form);
  if (next === "" || !field) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "secondary next-page";
  button.textContent = "Next page";
  button.addEventListener("click", () => {
    field.value = next;
    form.requestSubmit();
  });
  find(".actions", HTMLElement, form)?.append(button);
};

/** @param {HTMLFormElement} form */
const sendRequest = async (form) => {
  const outcome = find(".outcome", HTMLElement, form);
  const button = find("button:not([type])", HTMLButtonElement, form);
  if (!outcome || !button) return;
  /** @param {string} text @param {boolean} isBad */
  const tell = (text, isBad) => {
    outcome.textContent = text;
    outcome.classList.toggle("bad", isBad);
  };
  button.disabled = true;
  tell("Sent; waiting for the response.", false);
  try {
    const { url, method, headers, body } = requestOf(form);
    const started = performance.now();
    const response = await fetch(url, {
      ...bareRequest(),
      redirect: "manual",
      method,
      headers: { ...headers, ...(held ? { authorization: `Bearer ${held.text}` } : {}) },
      ...(body === undefined ? {} : { body }),
    });
    if (response.type === "opaqueredirect") {
      tell("The response redirects to another address, which this page does not follow.", false);
      return;
    }
    const { shown, next } = await readAnswer(response);
    const hint = response.status === 401 && !held ? ": sign in first" : "";
    tell(`${response.status} ${response.statusText}${hint}, after ${Math.round(performance.now() - started)} ms`, !response.ok);
    showAnswer(form, response, shown);
    offerNextPage(form, next);
  } catch (thrown) {
    tell(`No response: ${thrownMessage(thrown)}`, true);
  } finally {
    button.disabled = false;
  }
};

// ---- pages ----------------------------------------------------------------------------------------------------

const addCopyButtons = () => {
  // The clipboard API requires TLS or localhost.
  if (!navigator.clipboard) return;
  for (const block of document.querySelectorAll(".code.copy")) {
    const code = find("pre", HTMLElement, block);
    if (!code || find("button", HTMLButtonElement, block)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "secondary";
    button.textContent = "Copy";
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(code.textContent ?? "").then(
        () => (button.textContent = "Copied"),
        () => (button.textContent = "Not copied"),
      );
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    block.append(button);
  }
};

/** Redirects from a removed page to the new location of the fragment's section. */
const followMoved = () => {
  const moved = find("#moved", HTMLElement);
  const section = moved && location.hash !== "" ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  const link = section && moved?.contains(section) ? section.querySelector("a") : null;
  if (link) location.replace(link.href);
};

/** Fills in the uid of the address: gantry open acme/team/app. @param {HTMLFormElement} form */
const fillPath = (form) => {
  const uid = new URLSearchParams(location.search).get("uid");
  const field = find('[data-place="path"][data-name="uid"]', HTMLInputElement, form);
  if (field && uid !== null) field.value = uid;
};

/** Prepares the page's content, again after each replacement. */
const preparePage = () => {
  followMoved();
  for (const form of document.querySelectorAll("form.try")) {
    if (!(form instanceof HTMLFormElement)) continue;
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void sendRequest(form);
    });
    form.addEventListener("input", () => showCommand(form));
    fillPath(form);
    showCommand(form);
  }
  addCopyButtons();
  fillGroups();
  find("#contents [aria-current]", HTMLElement)?.scrollIntoView({ block: "nearest" });
};

/** The current page, without its fragment. */
let shownPath = location.pathname + location.search;

/** @param {URL} url @returns {Promise<Document>} */
const loadPage = (url) =>
  new Promise((resolve, reject) => {
    // Parsed as a document, in which nothing runs; text never becomes markup.
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.addEventListener("load", () => (request.responseXML ? resolve(request.responseXML) : reject(new Error("the response is not a page"))));
    request.addEventListener("error", () => reject(new Error("the server cannot be reached")));
    request.send();
  });

/** @param {URL} url @param {boolean} isNew */
const showPage = async (url, isNew) => {
  const next = await loadPage(url);
  const main = find("main", HTMLElement, next);
  const contents = find("#contents", HTMLElement, next);
  const [ownMain, ownContents] = [find("main", HTMLElement), find("#contents", HTMLElement)];
  if (!main || !contents || !ownMain || !ownContents) throw new Error("the response is not a page of these docs");
  if (isNew) history.pushState(null, "", url);
  shownPath = url.pathname + url.search;
  document.title = next.title;
  if (ownContents.matches(":popover-open")) ownContents.hidePopover();
  ownMain.replaceChildren(...main.children);
  ownContents.replaceChildren(...contents.children);
  preparePage();
  const target = url.hash === "" ? undefined : document.getElementById(decodeURIComponent(url.hash.slice(1)));
  if (!target) window.scrollTo(0, 0);
  target?.scrollIntoView();
  const heading = target ?? find("h1", HTMLElement, ownMain);
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
};

/** Navigates without losing the token; returns false if the browser should do it. @param {URL} url */
const goWithin = (url) => {
  const isWithin = url.origin === location.origin && (url.pathname === "/docs" || url.pathname.startsWith("/docs/"));
  if (!held || !isWithin || url.pathname + url.search === shownPath) return false;
  showPage(url, true).catch((thrown) => say("#account-status", `The page cannot be shown: ${thrownMessage(thrown)}`, true));
  return true;
};

const followLinks = () => {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey && !event.defaultPrevented;
    if (!link || !isPlain || link.dataset.reload !== undefined) return;
    if (goWithin(new URL(link.href))) event.preventDefault();
  });
  find("form[role=search]", HTMLFormElement)?.addEventListener("submit", (event) => {
    const url = new URL("/docs/search", location.origin);
    url.searchParams.set("q", find("#search", HTMLInputElement)?.value ?? "");
    if (goWithin(url)) event.preventDefault();
  });
  window.addEventListener("popstate", () => {
    const url = new URL(location.href);
    if (url.pathname + url.search === shownPath) return;
    showPage(url, false).catch(() => location.reload());
  });
};

const prepareAccount = () => {
  const dialog = find("#account-dialog", HTMLDialogElement);
  find("#account", HTMLButtonElement)?.addEventListener("click", () => dialog?.showModal());
  find("#account-close", HTMLButtonElement)?.addEventListener("click", () => dialog?.close());
  find("#sample-group", HTMLSelectElement)?.addEventListener("change", fillGroups);
  find("#sign-in", HTMLButtonElement)?.addEventListener("click", () => void signIn());
  find("#forget", HTMLButtonElement)?.addEventListener("click", () => forgetToken("The token was removed."));
  find("#paste", HTMLFormElement)?.addEventListener("submit", (event) => {
    event.preventDefault();
    const field = find("#token", HTMLTextAreaElement);
    const text = field?.value ?? "";
    if (field) field.value = "";
    holdToken(text);
  });
  showAccount();
};

if (document.documentElement.classList.contains("signed-in")) endSignIn();
else {
  prepareAccount();
  listenForSignIns();
  followLinks();
  preparePage();
}
