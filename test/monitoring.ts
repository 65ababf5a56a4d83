// Parses the queries of deploy/monitoring with PromQL's grammar: metrics and labels.

import assert from "node:assert/strict";
import { parser } from "@prometheus-io/lezer-promql";
import { isObject, type Json } from "#base/json.ts";
import { parse } from "yaml";
import { files } from "./project-files.ts";

export interface Query {
  /** "alerts.yaml: GantryDown", "dashboard.json: Calls a second by code". */
  readonly at: string;
  readonly text: string;
}

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** The use of one metric in a query. */
export interface Selector {
  readonly name: string;
  readonly matchers: readonly Matcher[];
}

export interface ReadQuery {
  readonly selectors: readonly Selector[];
  /** Labels for grouping and joining. */
  readonly grouped: readonly string[];
}

const content = (name: string): string => files.get(`deploy/monitoring/${name}`) ?? assert.fail(`no deploy/monitoring/${name}`);

export interface Alert extends Query {
  readonly name: string;
  /** From its annotations: "{{ $labels.instance }} …". */
  readonly summary: string;
}

const textAt = (value: Json | undefined, key: string): string => (isObject(value) && typeof value[key] === "string" ? value[key] : "");

const objectsAt = (value: Json | undefined, key: string): readonly Json[] => {
  const list = isObject(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
};

export const readAlerts = (): readonly Alert[] =>
  objectsAt(parse(content("alerts.yaml")) as Json, "groups").flatMap((group) =>
    objectsAt(group, "rules").map((rule) => {
      const name = textAt(rule, "alert");
      const summary = textAt(isObject(rule) ? rule.annotations : undefined, "summary");
      return { at: `alerts.yaml: ${name}`, name, text: textAt(rule, "expr"), summary };
    }),
  );

/** Replaces Grafana's variables. */
const withValues = (text: string): string => text.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:job|instance)\b/g, "gantry");

export const readDashboard = (): readonly Query[] => {
  const dashboard = JSON.parse(content("dashboard.json")) as Json;
  return objectsAt(dashboard, "panels").flatMap((panel) =>
    objectsAt(panel, "targets").map((target) => ({ at: `dashboard.json: ${textAt(panel, "title")}`, text: withValues(textAt(target, "expr")) })),
  );
};

/** Throws if the query is invalid. */
export const readQuery = ({ at, text }: Query): ReadQuery => {
  const selectors: { name: string; matchers: Matcher[] }[] = [];
  const grouped: string[] = [];
  let matcher: { label: string; operator: string } | undefined;
  parser.parse(text).iterate({
    enter({ name, type, from, to, node }) {
      const part = text.slice(from, to);
      assert.ok(!type.isError, `${at}: ${text.slice(0, from)} <here> ${text.slice(from)}`);
      if (name === "VectorSelector") selectors.push({ name: "", matchers: [] });
      const selector = selectors.at(-1);
      if (name === "Identifier" && node.parent?.name === "VectorSelector" && selector) selector.name = part;
      if (name === "LabelName" && node.parent?.name === "GroupingLabels") grouped.push(part);
      else if (name === "LabelName") matcher = { label: part, operator: "" };
      if (node.parent?.name === "MatchOp" && matcher) matcher.operator = { EqlSingle: "=", EqlRegex: "=~", Neq: "!=", NeqRegex: "!~" }[name] ?? name;
      if (name === "StringLiteral" && matcher) {
        selector?.matchers.push({ ...matcher, value: part.slice(1, -1) });
        matcher = undefined;
      }
    },
  });
  assert.ok(selectors.length > 0, `${at}: names no metric`);
  return { selectors, grouped };
};
