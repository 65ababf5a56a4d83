// Where the resources of a list are set: in the group of the page, or in groups and repos above and below it, by their names.

import type { ReactNode } from "react";
import { addressOf, useAddress, withParameters } from "./address.ts";
import type { GroupPage } from "./page-names.ts";
import { useAsk } from "./api.ts";
import { Link, nameOr } from "./parts.tsx";
import { namesOf, namesMax, type Place } from "./questions.ts";
import { texts } from "./texts/places.ts";

/** The group or repo of a resource; "" of an organization. */
export const parentOf = (uid: string): string => uid.slice(0, Math.max(0, uid.lastIndexOf("/")));

interface Named {
  /** The path of names as far as it is visible. */
  readonly name: string;
  readonly isRepo: boolean;
}

export type Names = ReadonlyMap<string, Named>;

/** Returns the names of groups and repos: those in the path of the page, and others by one more request. */
export const useNames = (uids: readonly string[], path: readonly Place[]): Names => {
  const known = new Map(path.map(({ uid, name }): [string, Named] => [uid, { name, isRepo: false }]));
  const unknown = [...new Set(uids)].filter((uid) => uid !== "" && !known.has(uid)).sort();
  const found = useAsk(unknown.length > 0 ? namesOf(unknown.slice(0, namesMax)) : undefined, { keep: true }).data?.data.results ?? [];
  return new Map([...known, ...found.map((each): [string, Named] => [each.uid, { name: each.path || each.name, isRepo: each.type === "Repo" }])]);
};

const repoAddress = (uid: string, page: GroupPage | undefined): string => {
  const [group, repo] = [parentOf(uid).split("/"), uid.split("/").at(-1) ?? ""];
  return page === undefined ? addressOf(group, "repos", repo) : `${addressOf(group, page)}?repo=${repo}`;
};

interface PlaceProps {
  /** Of a group or repo. */
  readonly uid: string;
  /** The group or repo of the page. */
  readonly here: string;
  readonly names: Names;
  /** The page of the group that the link opens (default: its own). */
  readonly page?: GroupPage;
}

export const PlaceLink = ({ uid, here, names, page }: PlaceProps): ReactNode => {
  if (uid === here) return <span className="quiet">{texts.here}</span>;
  const found = names.get(uid);
  if (!found) return nameOr("", uid);
  const group = uid.split("/");
  return (
    <Link className="words" href={found.isRepo ? repoAddress(uid, page) : page === undefined ? addressOf(group) : addressOf(group, page)}>
      {nameOr(found.name, uid)}
    </Link>
  );
};

/** Resources that apply to a group, or those of the group and everything below it. */
export type Scope = { readonly ancestorsOf: string } | { readonly descendantsOf: string };

/** The scope of the address. */
export const scopeIn = (url: URL, group: string): Scope => (isBelow(url) ? { descendantsOf: group } : { ancestorsOf: group });

const belowView = "below";

export const isBelow = (url: URL): boolean => url.searchParams.get("view") === belowView;

interface ScopeLinksProps {
  readonly label: string;
  /** Parameters that begin again at the first page. */
  readonly positions: readonly string[];
  /** Further views of the page, with their titles. */
  readonly others?: readonly (readonly [view: string, title: string])[];
}

/** Chooses the scope. */
export const ScopeLinks = ({ label, positions, others = [] }: ScopeLinksProps): ReactNode => {
  const url = useAddress();
  const current = [belowView, ...others.map(([view]) => view)].find((view) => view === url.searchParams.get("view"));
  const firstPage = Object.fromEntries(positions.map((name) => [name, undefined]));
  return (
    <nav className="states" aria-label={label}>
      {([[undefined, texts.applying], [belowView, texts.below], ...others] as const).map(([view, title]) => (
        <Link
          key={view ?? ""}
          href={withParameters(url, { ...firstPage, view })}
          isSamePage
          aria-current={view === current ? "true" : undefined}
          className="button"
        >
          {title}
        </Link>
      ))}
    </nav>
  );
};
