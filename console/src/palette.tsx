// Search over names, pages and actions, by keyboard alone: a combobox whose list is always open.

import { type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import type { SearchResult } from "../../client/package.ts";
import { mine } from "./access/requests.ts";
import {
  accountAddress,
  addressOf,
  adminAddress,
  advisoriesAddress,
  advisoryAddress,
  navigate,
  type Page,
  root,
  segmentsAt,
  vulnerabilityIdIn,
} from "./address.ts";
import { groupPages } from "./page-names.ts";
import { useAsk } from "./api.ts";
import { Dialog } from "./dialog.tsx";
import { showOverlay } from "./overlay.ts";
import { announce, Icon, type IconName, Marked } from "./parts.tsx";
import { type Place, queryLengthMin, search } from "./questions.ts";
import { signOut } from "./session.ts";
import { texts } from "./texts.ts";

interface Entry {
  readonly key: string;
  readonly icon: IconName;
  readonly title: string;
  /** What it is; for names the path. */
  readonly detail?: string;
  /** The kind of a resource. */
  readonly hint?: string;
  readonly run: () => void;
}

interface Part {
  readonly title: string;
  readonly entries: readonly Entry[];
}

const icons: Readonly<Record<string, IconName>> = { Group: "group", Repo: "repo", Tag: "tag", Identity: "user", Role: "shield" };

/** Returns the address of a result's page: its own, or that of its group; undefined for users, which are in no group. */
const addressOfResult = ({ type, uid, name, path }: SearchResult): string | undefined => {
  const names = type === "Tag" ? [...path.slice(0, -name.length - 1).split("/"), name] : path.split("/");
  const segments = segmentsAt(uid, names);
  if (type === "Group") return addressOf(segments);
  const [groups, last = ""] = [segments.slice(0, -1), segments.at(-1)];
  if (groups.length === 0) return undefined;
  if (type === "Repo") return addressOf(groups, "repos", last);
  if (type === "Tag") return `${addressOf(groups.slice(0, -1), "repos", groups.at(-1) ?? "")}?tag=${encodeURIComponent(name)}`;
  return type === "Role" ? `${addressOf(groups, "roles")}?role=${uid}` : addressOf(groups, "identities");
};

const entryOf = (result: SearchResult): Entry[] => {
  const address = addressOfResult(result);
  if (address === undefined) return [];
  const { type, uid, name, path, description } = result;
  const hint = texts.types[type as keyof typeof texts.types] ?? type;
  return [{ key: uid, icon: icons[type] ?? "search", title: name, detail: path || description, hint, run: () => navigate(address) }];
};

const copy = async (text: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
    announce(texts.copied);
  } catch {
    announce(texts.copyFailed);
  }
};

interface PaletteProps {
  readonly page: Page;
  readonly path: readonly Place[];
  readonly query: string;
}

const pagesAt = ({ page, path }: Omit<PaletteProps, "query">): Entry[] => {
  const to = (address: string) => (): void => navigate(address);
  const names = "names" in page ? page.names : [];
  const name = path.at(-1)?.name ?? "";
  const sections = path.length === 0 ? [] : (["overview", ...groupPages] as const);
  return [
    ...sections.map(
      (each): Entry => ({
        key: each,
        icon: "group",
        title: texts[each],
        detail: name,
        run: to(each === "overview" ? addressOf(names) : addressOf(names, each)),
      }),
    ),
    { key: "home", icon: "home", title: texts.home, run: to(root) },
    { key: "vulnerabilities", icon: "shield", title: texts.vulnerabilities, run: to(advisoriesAddress) },
    { key: "admin", icon: "gauge", title: texts.admin, run: to(adminAddress) },
    { key: "account", icon: "user", title: texts.ownAccount, run: to(accountAddress) },
    { key: "docs", icon: "book", title: texts.docs, run: () => location.assign("/docs") },
  ];
};

/** The page of a vulnerability, if an ID is typed. */
const vulnerabilityFor = (query: string): Entry[] => {
  const id = vulnerabilityIdIn(query);
  if (id === undefined) return [];
  return [{ key: "vulnerability", icon: "shield", title: id, detail: texts.vulnerabilityInImages, run: () => navigate(advisoryAddress(id)) }];
};

interface PageAction {
  readonly name: string;
  readonly icon: IconName;
  readonly title: string;
  /** Without it, the page has no such action. */
  readonly capability: string;
}

const groupActions: readonly PageAction[] = [
  { name: "new-group", icon: "plus", title: texts.newGroup, capability: "groups.create" },
  { name: "new-repo", icon: "plus", title: texts.newRepo, capability: "repo.create" },
  { name: "edit", icon: "edit", title: texts.editGroup, capability: "groups.update" },
  { name: "delete", icon: "trash", title: texts.deleteGroup, capability: "groups.delete" },
];

const repoActions: readonly PageAction[] = [
  { name: "edit", icon: "edit", title: texts.editRepo, capability: "repo.update" },
  { name: "readme", icon: "book", title: texts.editReadme, capability: "repo.update" },
  { name: "delete", icon: "trash", title: texts.deleteRepo, capability: "repo.delete" },
];

const tagActions: readonly PageAction[] = [
  { name: "move-tag", icon: "move", title: texts.moveTag, capability: "tag.update" },
  { name: "promote", icon: "promote", title: texts.promoteTag, capability: "manifest.list" },
  { name: "delete-tag", icon: "trash", title: texts.deleteTag, capability: "tag.delete" },
];

/** What the page of the group or repo can change, with the capabilities of the group. */
const changesAt = (page: Page, place: Place | undefined, own: readonly string[]): Entry[] => {
  if (!("names" in page) || !place || page.kind === "image" || page.kind === "tag") return [];
  const isRepo = page.kind === "repo";
  const tag = isRepo ? new URL(location.href).searchParams.get("tag") : null;
  const address = isRepo ? addressOf(page.names, "repos", page.repo) : addressOf(page.names);
  const entryFor = ({ name, icon, title }: PageAction, detail: string, query: string): Entry => ({
    key: name,
    icon,
    title,
    detail,
    run: () => navigate(`${address}?${query}do=${name}`, true),
  });
  const permitted = (actions: readonly PageAction[]): readonly PageAction[] => actions.filter(({ capability }) => own.includes(capability));
  if (!isRepo) return permitted(groupActions).map((each) => entryFor(each, place.name, ""));
  return [
    ...permitted(repoActions).map((each) => entryFor(each, page.repo, "")),
    ...(tag === null ? [] : permitted(tagActions).map((each) => entryFor(each, tag, `tag=${encodeURIComponent(tag)}&`))),
  ];
};

const actionsAt = ({ page, path }: Omit<PaletteProps, "query">): Entry[] => {
  const place = path.at(-1);
  const reference = "repo" in page ? [location.host, ...path.map(({ name }) => name), page.repo].join("/") : "";
  return [
    ...(reference === "" ? [] : [{ key: "reference", icon: "copy", title: texts.copyReference, detail: reference, run: () => void copy(reference) } as const]),
    ...(place ? [{ key: "uid", icon: "copy", title: texts.copyUid, detail: place.name, run: () => void copy(place.uid) } as const] : []),
    ...("names" in page && !("repo" in page) && place
      ? [
          {
            key: "add-binding",
            icon: "plus",
            title: texts.addBinding,
            detail: place.name,
            run: () => navigate(`${addressOf(page.names, "access")}?add=`),
          } as const,
        ]
      : []),
    { key: "keys", icon: "keyboard", title: texts.keys, run: () => showOverlay({ kind: "keys" }) },
    { key: "sign-out", icon: "exit", title: texts.signOut, run: () => void signOut() },
  ];
};

/** Returns a value once it has not changed for this long. */
const useSettled = <Value,>(value: Value, milliseconds: number): Value => {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
};

const pauseMs = 150;

export const Palette = ({ query: first, ...place }: PaletteProps): ReactNode => {
  const [typed, setTyped] = useState(first);
  const [at, setAt] = useState(0);
  // Enter before the results are there chooses the first of them.
  const [isChosen, setChosen] = useState(false);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const here = place.path.at(-1);
  const own = useAsk(here ? mine(here.uid) : undefined).data?.data.capabilities ?? [];
  const query = typed.trim();
  const asked = useSettled(query, pauseMs);
  const isSearched = [...query].length >= queryLengthMin;
  const result = useAsk(isSearched && [...asked].length >= queryLengthMin ? search(asked) : undefined, { keep: true });
  const found = isSearched ? result.data?.data : undefined;
  const wanted = useDeferredValue(query.toLowerCase());
  const matching = (entries: readonly Entry[]): Entry[] => entries.filter(({ title, detail = "" }) => `${title} ${detail}`.toLowerCase().includes(wanted));
  const parts: readonly Part[] = [
    { title: texts.vulnerability, entries: vulnerabilityFor(query) },
    { title: texts.results, entries: (found?.results ?? []).flatMap(entryOf) },
    { title: texts.goTo, entries: matching(pagesAt(place)) },
    { title: texts.actions, entries: matching([...changesAt(place.page, here, own), ...actionsAt(place)]) },
  ].filter(({ entries }) => entries.length > 0);
  const entries = parts.flatMap((part) => part.entries);
  const active = entries[Math.min(at, entries.length - 1)];
  const isWaiting = isSearched && !result.error && (asked !== query || result.isFetching);
  const close = (): void => showOverlay(undefined);
  const choose = (entry: Entry | undefined): void => {
    if (!entry) return;
    close();
    entry.run();
  };
  const idOf = (entry: Entry): string => `${id}${entry.key}`;
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });
  useEffect(() => {
    if (!isChosen || isWaiting) return;
    setChosen(false);
    choose(active);
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = entries.length - 1;
    const current = Math.min(at, last);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: current >= last ? 0 : current + 1,
      ArrowUp: current <= 0 ? last : current - 1,
      PageDown: Math.min(current + 8, last),
      PageUp: Math.max(current - 8, 0),
    };
    const next = moves[event.key];
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && isWaiting) setChosen(true);
    else if (event.key === "Enter") choose(active);
    else if (next !== undefined) setAt(next);
    else return;
    event.preventDefault();
  };
  const status = (): string => {
    if (!isSearched) return query === "" ? texts.searchHint : texts.searchMore(queryLengthMin);
    if (isWaiting) return texts.searching;
    if (result.error) return "";
    const count = found?.results.flatMap(entryOf).length ?? 0;
    if (count === 0) return texts.noMatch(query);
    return found?.more ? texts.firstMatches(count) : texts.matches(count);
  };
  return (
    <Dialog label={texts.search} className="dialog palette" onClose={close}>
      <div className="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label={texts.search}
          aria-expanded={entries.length > 0}
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={active ? idOf(active) : undefined}
          placeholder={texts.searchPlaceholder}
          autoComplete="off"
          spellCheck={false}
          maxLength={255}
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value);
            setAt(0);
            setChosen(false);
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" className="key" onClick={close} aria-label={texts.close}>
          Esc
        </button>
      </div>
      <div className="palette-list" role="listbox" id={id} aria-label={texts.results} ref={list}>
        {parts.map((part) => (
          // biome-ignore lint/a11y/useSemanticElements: no fieldset is allowed in a listbox
          <div role="group" aria-label={part.title} key={part.title}>
            <div className="palette-title" aria-hidden="true">
              {part.title}
            </div>
            {part.entries.map((entry) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input takes the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              <div
                key={entry.key}
                id={idOf(entry)}
                role="option"
                aria-selected={entry === active}
                className="palette-entry"
                onPointerMove={() => setAt(entries.indexOf(entry))}
                onClick={() => choose(entry)}
              >
                <Icon name={entry.icon} />
                <span className="palette-name">
                  <Marked text={entry.title} part={query} />
                  {entry.detail === undefined || entry.detail === entry.title ? null : (
                    <span className="palette-path">
                      <bdi>{entry.detail}</bdi>
                    </span>
                  )}
                </span>
                {entry.hint === undefined ? null : <span className="palette-type">{entry.hint}</span>}
              </div>
            ))}
          </div>
        ))}
      </div>
      {isSearched && result.error ? (
        <div className="palette-problem">
          <Icon name="warning" />
          <p role="alert">{result.error.message}</p>
          <button type="button" className="button" onClick={() => void result.refetch()}>
            {texts.retry}
          </button>
        </div>
      ) : null}
      <div className="palette-status">
        <p role="status">{status()}</p>
        <span aria-hidden="true">
          <kbd>↑</kbd>
          <kbd>↓</kbd> {texts.toMove}
          <kbd>Enter</kbd> {texts.toOpen}
        </span>
      </div>
    </Dialog>
  );
};
