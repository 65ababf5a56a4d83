// Routes paths below /v2/ by the contract's templates. A repository name has any number of segments and may contain the keywords that
// follow it, so the end of the path decides (oci: 1). Pure.

import { Fault } from "#base/fault.ts";
import type { MethodFact } from "#contract/facts.ts";

export interface DistributionMatch {
  readonly method: MethodFact;
  readonly fields: ReadonlyMap<string, string>;
  /** The repository name as the client wrote it; "" if the path has none. */
  readonly name: string;
}

export type DistributionRoute = DistributionMatch | { readonly allow: readonly string[] };

interface Route {
  readonly method: MethodFact;
  readonly verb: string;
  /** Segments after the repository name; without a name, after /v2/. */
  readonly suffix: readonly string[];
  readonly hasName: boolean;
}

const prefix = "/v2/";
const variableForm = /^\{(\w+)\}$/;

const segmentsOf = (path: string): string[] => {
  const bare = path.endsWith("/") ? path.slice(0, -1) : path;
  return bare === "" ? [] : bare.split("/");
};

const routeOf = (method: MethodFact): Route[] => {
  const { distribution } = method;
  if (!distribution) return [];
  const segments = segmentsOf(distribution.template.slice(prefix.length));
  const hasName = segments[0] === "{repo}";
  return [{ method, verb: distribution.verb, suffix: hasName ? segments.slice(1) : segments, hasName }];
};

const decodeSegment = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Fault("INVALID_ARGUMENT", `${JSON.stringify(segment)} is not valid percent-encoding`, { details: [{ kind: "reason", reason: "NAME_INVALID" }] });
  }
};

/** Distinguishes digests from tags, before validation (oci: 1). */
const fits = (variable: string, value: string): boolean => (variable === "digest" ? value.includes(":") : variable === "tag" ? !value.includes(":") : true);

const match = ({ method, suffix, hasName }: Route, segments: readonly string[], strictly: boolean): DistributionMatch | undefined => {
  const nameLength = segments.length - suffix.length;
  if (hasName ? nameLength < 1 : nameLength !== 0) return undefined;
  const fields = new Map<string, string>();
  for (const [index, expected] of suffix.entries()) {
    const segment = segments[nameLength + index] ?? "";
    const [, variable] = variableForm.exec(expected) ?? [];
    if (variable === undefined) {
      if (segment !== expected) return undefined;
      continue;
    }
    const value = decodeSegment(segment);
    if (strictly && !fits(variable, value)) return undefined;
    fields.set(variable, value);
  }
  const written = segments.slice(0, nameLength);
  if (hasName) {
    const name = written.map(decodeSegment);
    if (name.some((segment) => segment.includes("/")))
      throw new Fault("INVALID_ARGUMENT", "a path segment of a repository name contains a slash", { details: [{ kind: "reason", reason: "NAME_INVALID" }] });
    fields.set("repo", name.join("/"));
  }
  return { method, fields, name: written.join("/") };
};

/** Returns a router by verb and path. `path` starts with /v2. */
export const distributionRouter = (methods: readonly MethodFact[]): ((verb: string, path: string) => DistributionRoute | undefined) => {
  // Longest first: "blobs/uploads/x" is not a blob "x" of a repository that ends in "blobs/uploads".
  const routes = methods.flatMap(routeOf).sort((one, other) => other.suffix.length - one.suffix.length);
  return (verb, path) => {
    const segments = segmentsOf(path.slice(prefix.length));
    for (const strictly of [true, false]) {
      for (const route of routes) {
        const found = route.verb === verb && match(route, segments, strictly);
        if (found) return found;
      }
    }
    const allow = routes.flatMap((route) => (match(route, segments, false) ? [route.verb] : []));
    return allow.length > 0 ? { allow: [...new Set(allow)] } : undefined;
  };
};
