// Reference pages, generated from the OpenAPI documents: documents, and operations with parameters, responses and a request form.

import { escapeHtml } from "#base/html.ts";
import { codeBlockHtml, highlight } from "./highlight.ts";
import { type Content, type Operation, type OperationAnswer, type Parameter, type Reference, referencePath } from "./document.ts";
import { renderMarkdown } from "./markdown.ts";
import type { Fill } from "./own-address.ts";
import { type Describe, parameterHtml, requiredFirst, schemaHtml } from "./schema-fields.ts";
import { tryFormHtml } from "./try-form.ts";

/** Links in descriptions lead only to the web and to docs pages. */
const describe: Describe = (markdown) =>
  markdown === "" ? "" : renderMarkdown(markdown, (href) => (/^https?:\/\/|^\/docs(?:\/|$)/.test(href) ? href : undefined), { below: 2 }).html;

/** Returns an operation's summary, such as "List groups", or its ID. */
export const titleOfOperation = ({ id, summary }: Operation): string => summary.replace(/\.$/, "") || id;

/** Returns the description without the summary, which is its first sentence. */
export const restOfDescription = ({ summary, description }: Operation): string => {
  const [first = "", ...rest] = description.split("\n\n");
  const [line, sentence] = [first.replaceAll("\n", " "), `${summary.replace(/\.$/, "")}.`];
  if (line.startsWith(`${sentence} `)) return [line.slice(sentence.length + 1), ...rest].join("\n\n");
  return line.replace(/\.$/, "") === summary.replace(/\.$/, "") ? rest.join("\n\n") : description;
};

const callHtml = ({ verb, shownPath }: Pick<Operation, "verb" | "shownPath">): string =>
  `<code class="path"><span class="verb ${verb.toLowerCase()}">${verb}</span> ${escapeHtml(shownPath).replaceAll("/", "/<wbr>")}</code>`;

/** Separates the conventions, which are equal in all documents. */
const referenceText = (description: string): readonly [string, string] => {
  const [about = "", ...rest] = description.split(/\n\n/);
  return [about, rest.join("\n\n")];
};

export const referencePageHtml = ({ name, title, description, tags }: Reference): string => {
  const [about, conventions] = referenceText(description);
  return (
    `<h1>${escapeHtml(title)}</h1>${describe(about)}` +
    `<p>As a document for programs: <a href="/openapi/${escapeHtml(name)}.json" data-reload>/openapi/${escapeHtml(name)}.json</a></p>` +
    tags
      .map(
        (tag) =>
          `<h2 id="${escapeHtml(tag.name)}">${escapeHtml(tag.name)}</h2>${describe(tag.description)}<ul class="operations">` +
          tag.operations
            .map(
              (operation) =>
                `<li><a href="${referencePath(name, escapeHtml(operation.id))}">${escapeHtml(titleOfOperation(operation))}</a>: ${callHtml(operation)}</li>`,
            )
            .join("") +
          "</ul>",
      )
      .join("") +
    (conventions === "" ? "" : `<h2 id="conventions">Conventions</h2>${describe(conventions)}`)
  );
};

const places: readonly (readonly [Parameter["place"], string])[] = [
  ["path", "Path parameters"],
  ["query", "Query parameters"],
  ["header", "Headers"],
];

const labelHtml = (label: string): string => `<p class="label">${escapeHtml(label)}</p>`;

/** Output has no copy button. */
const outputHtml = (label: string, code: string): string =>
  `${labelHtml(label)}<div class="code"><pre tabindex="0"><code>${highlight(code, "json")}</code></pre></div>`;

const sampleHtml = (label: string, code: string, kind = label): string => labelHtml(label) + codeBlockHtml(code, kind);

const typeHtml = (type: string): string => `<code>${escapeHtml(type)}</code>`;

const isFile = ({ schema }: Content): boolean => Object.keys(schema).length === 0;

const fileHtml = ({ types }: Content): string => {
  if (types.length === 1)
    return types[0] === "text/html" ? `<p>A page, as ${typeHtml(types[0])}.</p>` : `<p>The bytes of a file, as ${typeHtml(types[0])}.</p>`;
  return `<p>The bytes of a file. Its <code>Content-Type</code> says which of these it is: ${types.map(typeHtml).join(", ")}.</p>`;
};

const answerHtml = ({ resolve }: Reference, { status, description, content }: OperationAnswer): string =>
  describe(description) +
  (content === undefined
    ? ""
    : isFile(content)
      ? fileHtml(content) + (content.example === undefined ? "" : outputHtml(`Example of ${status}, as ${content.types[0]}`, content.example))
      : `${content.types[0] === "application/json" ? "" : `<p class="quiet">As ${typeHtml(content.types[0])}</p>`}` +
        `${content.example === undefined ? "" : outputHtml(`Example of ${status}`, content.example)}` +
        schemaHtml({ resolve, describe, requiredWord: "" }, content.schema));

const isGood = ({ status }: OperationAnswer): boolean => /^[23]/.test(status);

const answersHtml = (reference: Reference, answers: readonly OperationAnswer[]): string =>
  answers
    .map((answer) => {
      const what = `<code>${escapeHtml(answer.status)}</code>`;
      // Errors are similar everywhere, so they are collapsed.
      return isGood(answer)
        ? `<h3>${what}</h3>${answerHtml(reference, answer)}`
        : `<details class="answer"><summary>${what} ${escapeHtml(answer.description.split("\n")[0] ?? "")}</summary>${answerHtml(reference, answer)}</details>`;
    })
    .join("");

export const operationPageHtml = (reference: Reference, operation: Operation, fill: Fill): string => {
  const words = { resolve: reference.resolve, describe, requiredWord: "required" } as const;
  const parameters = places
    .map(
      ([place, title]) =>
        [
          title,
          requiredFirst(
            operation.parameters.filter((each) => each.place === place),
            ({ required }) => required,
          ),
        ] as const,
    )
    .filter(([, those]) => those.length > 0)
    .map(([title, those]) => `<h3>${title}</h3><dl class="fields">${those.map((each) => parameterHtml(words, each)).join("")}</dl>`)
    .join("");
  const { body } = operation;
  return (
    `<p class="trail"><a href="${referencePath(reference.name)}">${escapeHtml(reference.title)}</a> / ` +
    `<a href="${referencePath(reference.name)}#${escapeHtml(operation.tag)}">${escapeHtml(operation.tag)}</a></p>` +
    `<h1>${escapeHtml(titleOfOperation(operation))}: ${callHtml(operation)}</h1>${describe(restOfDescription(operation))}` +
    `<p class="quiet"><code>${escapeHtml(operation.id)}</code>${operation.open ? "; needs no token" : ""}</p>` +
    `<h2 id="try">Try it</h2>${tryFormHtml(reference, operation)}` +
    (operation.samples.length === 0
      ? ""
      : `<h2 id="samples">Code samples</h2>${operation.samples.map(({ label, source }) => sampleHtml(label, fill(source))).join("")}`) +
    (parameters === "" ? "" : `<h2 id="parameters">Parameters</h2>${parameters}`) +
    (body === undefined
      ? ""
      : `<h2 id="body">Request body</h2>${describe(body.description)}${body.example === undefined ? "" : sampleHtml("Example", body.example, "json")}` +
        schemaHtml(words, body.schema)) +
    `<h2 id="responses">Responses</h2>${answersHtml(reference, operation.answers)}`
  );
};
