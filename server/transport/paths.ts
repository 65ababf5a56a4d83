// Routes paths to operations by the templates of google.api.http. Pure.
//
// Template = "/" Segment { "/" Segment } [ ":" Verb ]      Segment  = "*" | "**" | LITERAL | Variable
// Variable = "{" FieldPath [ "=" ( "*" | "**" ) ] "}"      "{digest}" is "{digest=*}"
//
// Beyond the grammar, as in the platform's contract: segments may follow "**" ("/repos/{uid=**}/readme"), and a final "**" also
// matches nothing, with or without a slash before it ("POST /iam/v2/groups" creates a root group). The most specific template wins: a
// literal before "*", "*" before "**", a longer end before a shorter one, a custom verb before none.

import { Fault } from "#base/fault.ts";
import type { HttpFact, MethodFact } from "#contract/facts.ts";

export interface Match {
  readonly method: MethodFact;
  readonly http: HttpFact;
  /** Field path of the template ("group.uid"), and the decoded text. */
  readonly fields: readonly (readonly [string, string])[];
}

/** `allow`: the path exists, but not with this verb. `undefined`: no such path. */
type RouteResult = Match | { readonly allow: readonly string[] } | undefined;

interface Route {
  readonly method: MethodFact;
  readonly http: HttpFact;
  /** Index of the template segment that each field captures; "**" may match several. */
  readonly captures: readonly { readonly field: string; readonly at: number }[];
  /** Index of the "**", or -1. */
  readonly deep: number;
  readonly behind: number;
}

interface Node {
  readonly literals: Map<string, Node>;
  star: Node | undefined;
  /** A "**" here, with the segments after it; longest first. */
  readonly deep: { readonly end: readonly string[]; readonly routes: Map<string, Route> }[];
  readonly routes: Map<string, Route>;
}

const emptyNode = (): Node => ({ literals: new Map(), star: undefined, deep: [], routes: new Map() });

interface ParsedTemplate {
  readonly segments: readonly string[];
  readonly fields: readonly { readonly field: string; readonly at: number }[];
  readonly custom: string;
}

const parseTemplate = (template: string): ParsedTemplate => {
  // A field path has no colon, so the last colon outside braces starts the custom verb.
  const match = /^\/(.+?)(?::([A-Za-z][A-Za-z0-9]*))?$/.exec(template);
  if (!match?.[1]) throw new Error(`path template ${template} cannot be read`);
  const fields: { field: string; at: number }[] = [];
  const segments = match[1].split("/").map((segment, at) => {
    const variable = /^\{([a-z0-9_.]+)(?:=(\*\*?))?\}$/.exec(segment);
    if (variable?.[1]) {
      fields.push({ field: variable[1], at });
      return variable[2] ?? "*";
    }
    if (!/^(?:\*\*?|[A-Za-z0-9._~-]+)$/.test(segment)) throw new Error(`path template ${template} cannot be read`);
    return segment;
  });
  if (segments.filter((segment) => segment === "**").length > 1) throw new Error(`path template ${template} has two "**"`);
  return { segments, fields, custom: match[2] ?? "" };
};

const insertRoute = (root: Node, template: string, method: MethodFact, http: HttpFact, parsed: ParsedTemplate): void => {
  const { segments, fields } = parsed;
  const deep = segments.indexOf("**");
  const behind = deep < 0 ? 0 : segments.length - deep - 1;
  const route: Route = { method, http, captures: fields, deep, behind };
  let node = root;
  for (const segment of deep < 0 ? segments : segments.slice(0, deep)) {
    let next = segment === "*" ? node.star : node.literals.get(segment);
    if (!next) {
      next = emptyNode();
      if (segment === "*") node.star = next;
      else node.literals.set(segment, next);
    }
    node = next;
  }
  let routes = node.routes;
  if (deep >= 0) {
    const end = segments.slice(deep + 1);
    let branch = node.deep.find((candidate) => candidate.end.join("/") === end.join("/"));
    if (!branch) {
      branch = { end, routes: new Map() };
      node.deep.push(branch);
      node.deep.sort((a, b) => b.end.length - a.end.length);
    }
    routes = branch.routes;
  }
  const rival = routes.get(http.verb);
  if (rival) throw new Error(`${method.name} and ${rival.method.name} share ${http.verb} ${template}`);
  routes.set(http.verb, route);
};

/** Calls `visit` with each matching set of routes and the number of segments that its "**" matches, most specific first, until it returns true. */
const visitRoutes = (node: Node, segments: readonly string[], at: number, visit: (routes: Map<string, Route>, deepLength: number) => boolean): boolean => {
  if (at === segments.length) {
    if (node.routes.size > 0 && visit(node.routes, 0)) return true;
  } else {
    const segment = segments[at] ?? "";
    const literal = node.literals.get(segment);
    if (literal && visitRoutes(literal, segments, at + 1, visit)) return true;
    if (node.star && segment !== "" && visitRoutes(node.star, segments, at + 1, visit)) return true;
  }
  for (const { end, routes } of node.deep) {
    const deepLength = segments.length - at - end.length;
    if (deepLength < (end.length > 0 ? 1 : 0)) continue;
    const from = segments.length - end.length;
    if (end.every((expected, index) => expected === "*" || expected === segments[from + index]) && visit(routes, deepLength)) return true;
  }
  return false;
};

const capturedFields = (route: Route, segments: readonly string[]): [string, string][] => {
  const { deep, behind } = route;
  // Segments after the "**" are shifted by the number of segments that it matched, minus one.
  const shift = deep < 0 ? 0 : segments.length - behind - deep - 1;
  return route.captures.map(({ field, at }) => {
    if (deep < 0 || at < deep) return [field, segments[at] ?? ""];
    if (at > deep) return [field, segments[at + shift] ?? ""];
    if (shift === 0) return [field, segments[at] ?? ""];
    return [field, segments.slice(deep, segments.length - behind).join("/")];
  });
};

const decodeSegments = (path: string): string[] =>
  path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment);
    } catch {
      throw new Fault("INVALID_ARGUMENT", `Invalid argument: path: ${JSON.stringify(segment)} is not valid percent-encoding`, {
        details: [{ kind: "fields", violations: [{ field: "path", description: "is not valid percent-encoding" }] }],
      });
    }
  });

/** Returns a router by verb and path. Throws if two operations have the same verb and path. */
export const makeRouter = (methods: readonly MethodFact[]): ((verb: string, path: string) => RouteResult) => {
  const withoutVerb = emptyNode();
  const customs = new Map<string, Node>();
  for (const method of methods) {
    for (const http of method.http) {
      const parsed = parseTemplate(http.template);
      let root = withoutVerb;
      if (parsed.custom) {
        root = customs.get(parsed.custom) ?? emptyNode();
        customs.set(parsed.custom, root);
      }
      insertRoute(root, http.template, method, http, parsed);
    }
  }

  const findRoute = (root: Node, verb: string, segments: readonly string[]): RouteResult => {
    let found: Match | undefined;
    const allow: string[] = [];
    visitRoutes(root, segments, 0, (routes, deepLength) => {
      // DELETE …/repos/{uid}/readme is a wrong verb, not the deletion of a repo named "…/readme".
      if (allow.length > 0 && deepLength > 0) return false;
      const route = routes.get(verb);
      if (!route) {
        for (const known of routes.keys()) if (!allow.includes(known)) allow.push(known);
        return false;
      }
      found = { method: route.method, http: route.http, fields: capturedFields(route, segments) };
      return true;
    });
    return found ?? (allow.length > 0 ? { allow } : undefined);
  };

  return (verb, path) => {
    // A trailing slash has no meaning: "/iam/v2/groups/" is "/iam/v2/groups".
    const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length;
    const raw = path.slice(1, end);
    if (!path.startsWith("/")) return undefined;
    const colon = raw.lastIndexOf(":");
    if (colon > raw.lastIndexOf("/")) {
      const custom = customs.get(raw.slice(colon + 1));
      if (custom) {
        let before = raw.slice(0, colon);
        if (before.endsWith("/")) before = before.slice(0, -1);
        const result = findRoute(custom, verb, before.includes("%") ? decodeSegments(before) : before.split("/"));
        if (result) return result;
      }
    }
    return findRoute(withoutVerb, verb, raw.includes("%") ? decodeSegments(raw) : raw.split("/"));
  };
};

/** Splits path and query. RFC 9112, 3.2.2: an absolute URL is accepted. */
export const splitTarget = (target: string): { path: string; query: string } => {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
};
