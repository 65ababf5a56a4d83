// Descriptions of version 1: if its protos have none, those of the version 2 counterpart.

import type { MessageFact, MethodFact } from "../facts.ts";
import { isViewed } from "../facts.ts";
import { linksOfMethod } from "../links.ts";
import type { Texts } from "./schemas.ts";

type Links = ReturnType<typeof linksOfMethod>["request"];

/** Adds the version 1 descriptions that follow from version 2. */
export const withEarlierTexts = (texts: Texts, version1: readonly MethodFact[]): Texts => {
  const all: Record<string, string> = { ...texts };
  const adopt = (name: string, other: string): void => {
    const text = all[other];
    if (all[name] === undefined && text !== undefined) all[name] = text;
  };
  const adoptFields = (message: MessageFact, other: MessageFact, links: Links, seen: ReadonlySet<string>): void => {
    if (seen.has(message.name)) return;
    adopt(message.name, other.name);
    for (const { field, path, inner } of links) {
      const leaf = path.at(-1);
      const owner = path.length > 1 ? path.at(-2)?.message : other;
      if (leaf && owner) adopt(`${message.name}.${field.name}`, `${owner.name}.${leaf.name}`);
      const target = leaf ? leaf.message : other;
      if (field.message && target && inner) adoptFields(field.message, target, inner, new Set([...seen, message.name]));
      const [own, values] = [field.enum, leaf?.enum];
      if (!own || !values) continue;
      adopt(own.name, values.name);
      for (const [value, number] of own.numbers) adopt(`${own.name}.${value}`, `${values.name}.${own.written.get(value) ?? values.names.get(number) ?? ""}`);
    }
  };
  for (const method of version1) {
    if (!isViewed(method)) continue;
    const { of } = method.view;
    adopt(method.service, of.service);
    adopt(method.name, of.name);
    const { request, reply } = linksOfMethod(method);
    adoptFields(method.input, of.input, request, new Set());
    adoptFields(method.output, of.output, reply, new Set());
  }
  return all;
};
