// Lists resources by uid, in several requests if a URL would become too long for servers and proxies.

import { type JsonObject, objectList, part } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Client } from "#contract-client";
import type { FieldFact, MethodFact } from "#contract/facts.ts";

/** Splits uids into groups of at most limits.uidsInAddressLengthMax in a URL. */
const splitUids = (uids: readonly string[]): string[][] => {
  const groups: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const uid of uids) {
    const added = encodeURIComponent(`uidp.ids=${uid}&`).length;
    if (length + added > limits.uidsInAddressLengthMax) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(uid);
    length += added;
  }
  return groups;
};

export interface ListByUids {
  readonly method: MethodFact;
  readonly list: FieldFact;
  readonly uids: readonly string[];
  readonly request?: JsonObject;
  readonly signal?: AbortSignal | undefined;
}

export const listByUids = async (client: Client, { method, list, uids, request = {}, signal }: ListByUids): Promise<JsonObject[]> => {
  const found: JsonObject[] = [];
  for (const ids of splitUids(uids)) {
    const asked: JsonObject = { ...request, uidp: { ...part(request, "uidp"), ids }, pageSize: limits.pageSizeMax };
    for await (const page of client.pages(method, asked, { signal })) found.push(...objectList(page, list.json));
  }
  return found;
};
