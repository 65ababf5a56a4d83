// Form to try an operation, with the parameters of its description. It requires the script (browser/page.js). validateOnly is
// preset, so that changes are only tried by default.

import { escapeHtml } from "#base/html.ts";
import { isObject, type JsonObject, part, texts } from "#base/json.ts";
import type { Operation, Parameter, Reference } from "./document.ts";

const choicesOf = (schema: JsonObject): string[] => {
  if (schema.type === "boolean") return ["true", "false"];
  return Array.isArray(schema.enum) ? schema.enum.filter((value) => typeof value === "string") : [];
};

const presetOf = ({ name }: Parameter, verb: string): string => (name === "validateOnly" && verb !== "GET" ? "true" : "");

/** Shown but not sent. */
const unlessGiven = ({ default: value }: JsonObject): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? ` placeholder="${escapeHtml(String(value))}"` : "";

const selectHtml = (id: string, attributes: string, choices: readonly string[], preset: string): string =>
  `<select id="${id}" ${attributes}>${["", ...choices]
    .map((choice) => `<option value="${escapeHtml(choice)}"${choice === preset ? " selected" : ""}>${choice === "" ? "–" : escapeHtml(choice)}</option>`)
    .join("")}</select>`;

/** The list that the script offers for a path parameter. */
const picksOf = ({ place, description }: Parameter): string | undefined => {
  const [, kind] = (place === "path" && /\bUid of a (Group|Repo)\./.exec(description)) || [];
  return kind && { Group: "groups", Repo: "repos" }[kind];
};

const fieldHtml = ({ resolve }: Reference, verb: string, parameter: Parameter, index: number): string => {
  const { name, shownName, place, required } = parameter;
  const { schema } = resolve(parameter.schema);
  const isList = schema.type === "array";
  const choices = choicesOf(schema);
  const id = `field-${index}`;
  // An empty path parameter addresses the root.
  const attributes = `data-place="${place}" data-name="${escapeHtml(name)}"${isList ? " data-list" : ""}${required && place !== "path" ? " required" : ""}`;
  const preset = presetOf(parameter, verb);
  const control =
    choices.length > 0
      ? selectHtml(id, attributes, choices, preset)
      : isList
        ? `<textarea id="${id}" rows="2" spellcheck="false" autocomplete="off" ${attributes} placeholder="one on a line"></textarea>`
        : `<input id="${id}" spellcheck="false" autocomplete="off" autocapitalize="off" ${attributes}${unlessGiven(schema)}>`;
  const picks = picksOf(parameter);
  // The script fills it after a sign-in.
  const picker =
    picks === undefined ? "" : `<select class="picker" data-for="${id}" data-picks="${picks}" aria-label="Choose ${escapeHtml(shownName)}" hidden></select>`;
  const note =
    name === "validateOnly" && preset === "true"
      ? "<small>Preset: the server checks the request and changes nothing. Choose false to make the change.</small>"
      : "";
  return `<div class="field"><label for="${id}"><code>${escapeHtml(shownName)}</code>${required ? " (required)" : ""}</label>${picker}${control}${note}</div>`;
};

/** The document's example, or the required and most common fields. */
const bodyOf = ({ resolve }: Reference, { body }: Operation): string => {
  if (body?.example !== undefined) return body.example;
  const { schema } = resolve(body?.schema ?? {});
  const first = new Set([...texts(schema, "required"), "name", "description"]);
  const begun = Object.entries(part(schema, "properties")).flatMap(([name, field]) => {
    if (!isObject(field) || !first.has(name)) return [];
    const { type } = resolve(field).schema;
    return [[name, type === "string" ? "" : type === "array" ? [] : type === "boolean" ? false : type === "object" ? {} : null]];
  });
  return JSON.stringify(Object.fromEntries(begun), undefined, 2);
};

const shownAtOnce = 4;

export const tryFormHtml = (reference: Reference, operation: Operation): string => {
  const { parameters, body, verb, path } = operation;
  // Omits headers set by the browser or the page.
  const fields = parameters
    .filter(({ place, name }) => place !== "header" || !/^(?:authorization|cookie|host|origin|accept|content-.*)$/i.test(name))
    .map((parameter, index) => ({
      first: parameter.place === "path" || parameter.required || parameter.name === "validateOnly",
      html: fieldHtml(reference, verb, parameter, index),
    }));
  const [first, more] = [fields.filter((each) => each.first), fields.filter((each) => !each.first)].map((some) => some.map(({ html }) => html));
  const shown = [...(first ?? [])];
  const hidden = [...(more ?? [])];
  if (hidden.length <= shownAtOnce) shown.push(...hidden.splice(0));
  const isJson = body !== undefined && /[/+]json$/.test(body.types[0]);
  return (
    `<noscript><p>Requests are made by a script of this page, which your browser does not run.</p></noscript>` +
    `<form class="try" hidden data-verb="${verb}" data-path="${escapeHtml(path)}"` +
    `${body ? ` data-type="${escapeHtml(body.types[0])}"` : ""}${operation.open ? " data-open" : ""}>` +
    shown.join("") +
    (hidden.length > 0 ? `<details><summary>${hidden.length} more parameters</summary>${hidden.join("")}</details>` : "") +
    (body === undefined
      ? ""
      : `<div class="field"><label for="body-text">Body</label>` +
        `<textarea id="body-text" class="body" rows="${isJson ? 8 : 3}" spellcheck="false" autocomplete="off">` +
        `\n${escapeHtml(bodyOf(reference, operation))}</textarea></div>`) +
    `<p class="actions"><button>Send request</button></p>` +
    `<details class="command"><summary>The same with curl</summary><div class="code copy"><pre tabindex="0"><code></code></pre></div></details>` +
    `<p role="status" class="outcome"></p><div class="answer" hidden><details><summary>Headers</summary><dl class="headers"></dl></details>` +
    `<pre tabindex="0" aria-label="The body of the response"></pre></div></form>`
  );
};
