// Every public export of @gantry/client that runs has JSDoc with an example: functions, classes, their methods, and the generated members.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as exported from "../../client/package.ts";
import { files } from "../project-files.ts";

const sources = [...files].filter(([path]) => /^client\/(?:gen\/)?[a-z-]+\.ts$/.test(path)).map(([, text]) => text);

/** The JSDoc directly above the text at `at`. */
const docBefore = (source: string, at: number): string => /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(source.slice(0, at))?.[0] ?? "";

const hasExample = (doc: string): boolean => /@example\n \s*\* ```ts\n/.test(doc);

/** The source of a class, up to its end. */
const classSource = (name: string): { readonly source: string; readonly at: number; readonly body: string } | undefined => {
  for (const source of sources) {
    const at = source.search(new RegExp(`^export class ${name}\\b`, "m"));
    if (at !== -1) return { source, at, body: source.slice(at, source.indexOf("\n}\n", at)) };
  }
  return undefined;
};

const ownMembers = (type: { readonly prototype: object }): string[] => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");

const methodsWithoutExample = (name: string, type: { readonly prototype: object }): string[] => {
  const { body } = classSource(name) ?? assert.fail(`no source of ${name}`);
  return ownMembers(type).filter((member) => {
    const at = body.search(new RegExp(`^  (?:get |async |async \\*)?${member}\\(`, "m"));
    return !hasExample(docBefore(body, at));
  });
};

const isClass = (value: unknown): value is { readonly name: string; readonly prototype: object } =>
  typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));

test("every exported function, class and method of the client has an example", () => {
  const missing: string[] = [];
  for (const [name, value] of Object.entries(exported)) {
    if (isClass(value)) {
      const found = classSource(name) ?? assert.fail(`no source of ${name}`);
      if (!hasExample(docBefore(found.source, found.at))) missing.push(name);
      missing.push(...methodsWithoutExample(name, value).map((member) => `${name}.${member}`));
    } else {
      const source = sources.find((text) => text.includes(`export const ${name} =`)) ?? assert.fail(`no source of ${name}`);
      if (!hasExample(docBefore(source, source.indexOf(`export const ${name} =`)))) missing.push(name);
    }
  }
  assert.ok(Object.keys(exported).length >= 12, `only ${Object.keys(exported).join(", ")}`);
  assert.deepEqual(missing, []);
});

test("every generated member of the client has an example that calls it", () => {
  const gantry = new exported.Gantry({ server: "https://gantry.example.com", token: "token" });
  const missing: string[] = [];
  let count = 0;
  const visit = (owner: object, path: string): void => {
    const type: unknown = owner.constructor;
    if (isClass(type) && /Api$/.test(type.name) && classSource(type.name) !== undefined) {
      const { body } = classSource(type.name) ?? assert.fail(type.name);
      for (const member of ownMembers(type)) {
        const at = body.search(new RegExp(`^  ${member}\\(`, "m"));
        if (at === -1) continue;
        count++;
        const doc = docBefore(body, at);
        if (!hasExample(doc) || !doc.includes(`${path}.${member}(`)) missing.push(`${path}.${member}`);
      }
    }
    for (const [key, value] of Object.entries(owner)) if (typeof value === "object" && value !== null) visit(value, `${path}.${key}`);
  };
  visit(gantry, "gantry");
  assert.deepEqual(missing, []);
  assert.ok(count > 150, `${count} members`);
});
