// The kernel of a running server: the handler of each operation, resolved at start.

import { openRightsCache, type Rights, type RightsCache } from "#authz";
import type { FairQueue } from "#base/fair-queue.ts";
import { methods, version1 } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { readCatalogue, type Write } from "#db";
import type { Answer, BoundResource, Cause, ChangeContext, Reads, Resource, Services } from "./context.ts";
import { openCallTurns } from "./fairness-keys.ts";
import { openRefusalPace, type RefusalPace } from "./refusal-pace.ts";
import { bindResources } from "./resource.ts";
import { openRates, type Rates } from "./rates.ts";
import { requireSchema } from "./schema.ts";
import { verbFor } from "./verbs/index.ts";

export interface Kernel {
  readonly services: Services;
  readonly rights: RightsCache;
  readonly rates: Rates;
  /** Handlers by the operation's full name. An operation without one is UNIMPLEMENTED. */
  readonly answers: ReadonlyMap<string, Answer>;
  /** How to read the resource before an update or delete, for If-Match; by that operation's full name. */
  readonly currentReads: ReadonlyMap<string, CurrentRead>;
  /** Those with a table, by message name. */
  readonly resources: ReadonlyMap<string, BoundResource>;
  /** The same with the fields that only version 1 has. */
  readonly resourcesInVersion1: ReadonlyMap<string, BoundResource>;
  readonly refusalPace: RefusalPace;
  readonly turnsOf: (method: MethodFact) => FairQueue;
  readonly nobody: Rights;
}

export interface CurrentRead {
  readonly get: MethodFact;
  readonly reads: Reads["reads"];
  readonly table: string;
}

/** UpdateRepoReadme changes the resource that GetRepoReadme reads (AIP-131, AIP-134, AIP-135). */
const currentReadsOf = (answers: ReadonlyMap<string, Answer>, resources: ReadonlyMap<string, BoundResource>): Map<string, CurrentRead> => {
  const found = new Map<string, CurrentRead>();
  for (const resource of resources.values()) {
    for (const { name, rpc } of resource.operations) {
      const noun = /^(?:Update|Delete)(.+)$/.exec(rpc)?.[1];
      const get = noun === undefined ? undefined : resource.operations.find((other) => other.rpc === `Get${noun}`);
      const answer = get && answers.get(get.name);
      if (get && answer && "reads" in answer && !found.has(name)) found.set(name, { get, reads: answer.reads, table: resource.shape.table.name });
    }
  }
  return found;
};

/** Checks resources against contract and database, and resolves handlers. Throws if they disagree. */
export const openKernel = async (services: Services, resources: readonly Resource[]): Promise<Kernel> => {
  const catalogue = await readCatalogue(services.store.read);
  requireSchema(resources, catalogue, services.log);
  const bound = bindResources(resources, catalogue);
  const answers = new Map<string, Answer>();
  for (const resource of resources) {
    const own = new Map(Object.entries(resource.methods ?? {}));
    const table = bound.get(resource.fact.name);
    for (const method of resource.operations) {
      const answer = own.get(method.rpc) ?? (table && verbFor(table, method));
      own.delete(method.rpc);
      if (!answer) continue;
      if ("reads" in answer === method.writes) throw new Error(`${method.name}: the contract and its answer disagree on whether it writes`);
      answers.set(method.name, resource.findPlace && method.scope ? { ...answer, findPlace: resource.findPlace } : answer);
    }
    const [unknown] = own.keys();
    if (unknown) throw new Error(`${resource.service} has no operation ${unknown}`);
  }
  const known = new Set([...methods, ...version1].map(({ name }) => name));
  for (const name of answers.keys()) if (!known.has(name)) throw new Error(`${name} is not in the contract`);
  return {
    services,
    rights: openRightsCache(services.store.read, services.metrics),
    rates: await openRates(services),
    answers,
    currentReads: currentReadsOf(answers, bound),
    resources: bound,
    resourcesInVersion1: bindResources(resources, catalogue, "version 1"),
    refusalPace: openRefusalPace(),
    turnsOf: openCallTurns(services),
    nobody: { uid: "", grants: [], accessVersion: { root: "", version: "" }, untilMs: Number.POSITIVE_INFINITY },
  };
};

/**
 * Returns the context of a change without an authorized request: a sign-in, an accepted invite, a command, or the server itself.
 * Rules still apply; their permission checks always pass.
 */
export const changeContext = ({ services, resources }: Pick<Kernel, "services" | "resources">, rows: Write, cause: Cause): ChangeContext => ({
  services,
  resources,
  rows,
  cause,
  nowMs: services.clock(),
  caller: undefined,
  require: () => {},
  delegate: () => {},
  reportedByCause: [],
});
