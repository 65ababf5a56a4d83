// Code blocks as HTML: colors for comments, strings, keywords and variables, and the marking of blocks that have a copy button.

import { escapeHtml } from "#base/html.ts";

interface Language {
  readonly comment: string;
  readonly keywords: string;
}

const never = "(?!)";
const hash = String.raw`(?<=^|\s)#.*`;
const slashes = String.raw`(?<!:)\/\/.*`;
const script =
  "async|await|break|case|catch|class|const|else|export|extends|finally|for|from|function|if|import|in|let|new|null|of|return|throw|true|" +
  "false|try|type|undefined|while|yield";
const languages: ReadonlyMap<string, Language> = new Map(
  Object.entries({
    sh: { comment: hash, keywords: "case|do|done|elif|else|esac|exit|export|fi|for|if|in|return|set|source|then|unset|until|while" },
    yaml: { comment: hash, keywords: "true|false|null" },
    json: { comment: never, keywords: "true|false|null" },
    ts: { comment: slashes, keywords: script },
    go: {
      comment: slashes,
      keywords: "break|case|chan|const|continue|defer|else|for|func|go|if|import|map|nil|package|range|return|select|struct|switch|type|var",
    },
    python: {
      comment: hash,
      keywords:
        "as|async|await|class|def|elif|else|except|False|finally|for|from|if|import|in|is|lambda|None|not|or|and|raise|return|True|try|while|with|yield",
    },
    hcl: { comment: hash, keywords: "data|module|null|provider|resource|terraform|true|false|variable" },
    sql: { comment: "--.*", keywords: "alter|and|create|database|delete|from|grant|in|insert|is|not|null|on|or|role|select|set|to|update|where|with" },
    proto: { comment: slashes, keywords: "import|message|option|package|repeated|returns|rpc|service|syntax" },
  }),
);

const sameAs: Readonly<Record<string, string>> = { js: "ts", groovy: "ts", typescript: "ts", shell: "sh", curl: "sh", gantry: "sh", ini: "sh", haproxy: "sh" };

const strings = String.raw`"(?:[^"\\\n]|\\.)*"|'[^'\n]*'`;
const variables = String.raw`\$\w+|\$\{[^}\n]*\}`;

/** Groups in order: comment, string, variable, keyword, number. */
const lexers = new Map<string, RegExp>();
const lexerOf = (kind: string): RegExp | undefined => {
  const name = sameAs[kind] ?? kind;
  const language = languages.get(name);
  if (language === undefined) return undefined;
  const lexer =
    lexers.get(name) ??
    new RegExp(
      `(${language.comment})|(${strings})|(${variables})|(?<![\\w.$/-])(${language.keywords})(?![\\w./=:-])|(?<![\\w.:/-])(\\d+(?:\\.\\d+)?)(?![\\w.:/-])`,
      "gm",
    );
  lexers.set(name, lexer);
  return lexer;
};

const classes = ["comment", "string", "variable", "keyword", "number"];

/** Returns code with spans for its colors; without them if its language is unknown. */
export const highlight = (code: string, kind: string): string => {
  const lexer = lexerOf(kind.toLowerCase());
  if (lexer === undefined) return escapeHtml(code);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(lexer)) {
    const group = match.slice(1).findIndex((each) => each !== undefined);
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${classes[group]}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
};

/** Renders a block. Output, which has no language, gets no copy button. */
export const codeBlockHtml = (code: string, kind: string): string =>
  `<div class="${kind === "" ? "code" : "code copy"}"><pre tabindex="0"><code>${highlight(code, kind)}</code></pre></div>`;
