// Counts of changed records by owner. Pure.

import { isObject, type Json } from "#base/json.ts";
import type { FeedRecord, RecordTarget, WriteCounts } from "./records.ts";

/** The import's group, or all tenants. */
export type RecordOwner = "group" | "everybody";

export type OwnedChanges = Readonly<Record<RecordOwner, Changes>>;

export interface Changes {
  readonly new: number;
  readonly changed: number;
  readonly withdrawn: number;
}

export type OwnedCounts = Readonly<Record<RecordOwner, WriteCounts>>;

export const noCounts: WriteCounts = { new: 0, changed: 0, withdrawn: 0, unchanged: 0 };

export const addCounts = (one: WriteCounts, other: WriteCounts): WriteCounts => ({
  new: one.new + other.new,
  changed: one.changed + other.changed,
  withdrawn: one.withdrawn + other.withdrawn,
  unchanged: one.unchanged + other.unchanged,
});

export const noOwnedCounts: OwnedCounts = { group: noCounts, everybody: noCounts };

export const addOwnedCounts = (one: OwnedCounts, other: OwnedCounts): OwnedCounts => ({
  group: addCounts(one.group, other.group),
  everybody: addCounts(one.everybody, other.everybody),
});

/**
 * Advisories and lifecycles always belong to the group. Public vulnerabilities and images are shared, as are libraries
 * and origin packages.
 */
export const recordOwner = (kind: FeedRecord["kind"], target: RecordTarget): RecordOwner => {
  switch (kind) {
    case "advisory":
    case "lifecycle":
      return "group";
    case "vulnerability":
    case "known exploit":
    case "exploit prediction":
    case "image":
      return target.public ? "everybody" : "group";
    case "library":
    case "origin":
      return "everybody";
  }
};

/** Returns the owner for rows: the group's uid, or empty for public records. */
export const ownerGroup = (target: RecordTarget): string => (target.public ? "" : target.group);

export const noChanges: Changes = { new: 0, changed: 0, withdrawn: 0 };

export const addChanges = (one: OwnedChanges, other: OwnedChanges): OwnedChanges => {
  const sumOf = (owner: RecordOwner): Changes => ({
    new: one[owner].new + other[owner].new,
    changed: one[owner].changed + other[owner].changed,
    withdrawn: one[owner].withdrawn + other[owner].withdrawn,
  });
  return { group: sumOf("group"), everybody: sumOf("everybody") };
};

export const changeCount = ({ new: made, changed, withdrawn }: Changes): number => made + changed + withdrawn;

const ownedChangesOf = (value: Json | undefined): Changes => {
  const count = (key: keyof Changes): number => (isObject(value) ? Number(value[key] ?? 0) : 0);
  return { new: count("new"), changed: count("changed"), withdrawn: count("withdrawn") };
};

/** Returns the column's counts; missing ones are 0. */
export const changesOf = (value: Json): OwnedChanges => {
  const owners = isObject(value) ? value : {};
  return { group: ownedChangesOf(owners.group), everybody: ownedChangesOf(owners.everybody) };
};
