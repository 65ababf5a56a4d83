// Header, tree and content of a signed-in user.

import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { accountAddress, addressOf, adminAddress, advisoriesAddress, type Page, pageAt, root, useAddress } from "./address.ts";
import { useAsk } from "./api.ts";
import { Boundary } from "./boundary.tsx";
import { DensityChoice } from "./density.tsx";
import { shortDigest } from "./format.ts";
import { HomePage, topmost } from "./pages/home.tsx";
import { onDemand, Outdated } from "./on-demand.tsx";
import { isApple, onKeyDown, showOverlay, useOverlay } from "./overlay.ts";
import { Palette } from "./palette.tsx";
import { Failure, Icon, Link, Name, NotFound, Skeleton } from "./parts.tsx";
import { type Place as GroupPlace, placesAt, treeGroups, visibleGroups, whoAmI } from "./questions.ts";
import { signOut, useSession } from "./session.ts";
import { texts } from "./texts.ts";
import { GroupTree } from "./tree.tsx";
import { Undo } from "./undo.tsx";

const AccessPage = onDemand(async () => (await import("./pages/access.tsx")).AccessPage);
const AccountPage = onDemand(async () => (await import("./pages/account.tsx")).AccountPage);
const ApprovalsPage = onDemand(async () => (await import("./pages/approvals.tsx")).ApprovalsPage);
const AssociationsPage = onDemand(async () => (await import("./pages/associations.tsx")).AssociationsPage);
const AuditPage = onDemand(async () => (await import("./pages/audit.tsx")).AuditPage);
const DeletedPage = onDemand(async () => (await import("./pages/deleted.tsx")).DeletedPage);
const FindingsPage = onDemand(async () => (await import("./pages/findings.tsx")).FindingsPage);
const GroupPage = onDemand(async () => (await import("./pages/group.tsx")).GroupPage);
const InvitesPage = onDemand(async () => (await import("./pages/invites.tsx")).InvitesPage);
const LibrariesPage = onDemand(async () => (await import("./pages/libraries.tsx")).LibrariesPage);
const ProvidersPage = onDemand(async () => (await import("./pages/providers.tsx")).ProvidersPage);
const RobotsPage = onDemand(async () => (await import("./pages/robots.tsx")).RobotsPage);
const RulesPage = onDemand(async () => (await import("./pages/rules.tsx")).RulesPage);
const StoragePage = onDemand(async () => (await import("./pages/storage.tsx")).StoragePage);
const EventsPage = onDemand(async () => (await import("./pages/events.tsx")).EventsPage);
const SessionsPage = onDemand(async () => (await import("./pages/sessions.tsx")).SessionsPage);
const BindingsPage = onDemand(async () => (await import("./pages/bindings.tsx")).BindingsPage);
const IdentitiesPage = onDemand(async () => (await import("./pages/identities.tsx")).IdentitiesPage);
const RolesPage = onDemand(async () => (await import("./pages/roles.tsx")).RolesPage);
const ChoicePage = onDemand(async () => (await import("./pages/choice.tsx")).ChoicePage);
const Keys = onDemand(async () => (await import("./keys.tsx")).Keys);
const DecisionsPage = onDemand(async () => (await import("./pages/decisions.tsx")).DecisionsPage);
const VexPage = onDemand(async () => (await import("./pages/vex.tsx")).VexPage);
const WebhooksPage = onDemand(async () => (await import("./pages/webhooks.tsx")).WebhooksPage);
const RepoPage = onDemand(async () => (await import("./pages/repo.tsx")).RepoPage);
const ImagePage = onDemand(async () => (await import("./pages/image.tsx")).ImagePage);
const TagPage = onDemand(async () => (await import("./pages/image.tsx")).TagPage);
const AdvisoriesPage = onDemand(async () => (await import("./pages/advisories.tsx")).AdvisoriesPage);
const AdvisoryPage = onDemand(async () => (await import("./pages/advisories.tsx")).AdvisoryPage);
const AdminPage = onDemand(async () => (await import("./pages/admin.tsx")).AdminPage);

const AccountMenu = (): ReactNode => {
  const me = useAsk(whoAmI()).data?.data;
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !menu.current?.contains(event.target as Node)) menu.current?.removeAttribute("open");
    };
    document.addEventListener("click", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("click", close);
      document.removeEventListener("keydown", close);
    };
  }, []);
  const name = me?.profile?.name || me?.email || me?.subject || "";
  return (
    <details className="account" ref={menu}>
      <summary aria-label={texts.account} title={texts.account}>
        <Icon name="user" />
      </summary>
      <div className="menu">
        <p className="quiet">{texts.signedInAs}</p>
        <p className="who">
          <Name>{name}</Name>
        </p>
        <DensityChoice />
        <Link className="button" href={accountAddress} onClick={() => menu.current?.removeAttribute("open")}>
          {texts.ownAccount}
        </Link>
        <button type="button" className="button" onClick={() => void signOut()}>
          {texts.signOut}
        </button>
      </div>
    </details>
  );
};

interface BreadcrumbProps {
  readonly page: Page;
  readonly path: readonly GroupPlace[] | undefined;
}

const Breadcrumb = ({ page, path }: BreadcrumbProps): ReactNode => {
  const names = "names" in page ? page.names : [];
  if (names.length === 0) return null;
  return (
    <nav className="breadcrumb" aria-label={texts.breadcrumb}>
      <ol>
        {names.map((segment, index) => (
          <li key={addressOf(names.slice(0, index + 1))}>
            <Link href={addressOf(names.slice(0, index + 1))} aria-current={page.kind === "group" && index === names.length - 1 ? "page" : undefined}>
              <Name>{path?.[index]?.name || segment}</Name>
            </Link>
          </li>
        ))}
        {page.kind === "repo" ? (
          <li>
            <span aria-current="page">
              <Name>{page.repo}</Name>
            </span>
          </li>
        ) : null}
        {page.kind === "image" ? (
          <>
            <li>
              <Link href={addressOf(names, "repos", page.repo)}>
                <Name>{page.repo}</Name>
              </Link>
            </li>
            <li>
              <span aria-current="page">{shortDigest(page.digest)}</span>
            </li>
          </>
        ) : null}
      </ol>
    </nav>
  );
};

const groupPages = {
  group: GroupPage,
  access: AccessPage,
  approvals: ApprovalsPage,
  associations: AssociationsPage,
  audit: AuditPage,
  bindings: BindingsPage,
  decisions: DecisionsPage,
  deleted: DeletedPage,
  findings: FindingsPage,
  identities: IdentitiesPage,
  invites: InvitesPage,
  libraries: LibrariesPage,
  providers: ProvidersPage,
  robots: RobotsPage,
  roles: RolesPage,
  rules: RulesPage,
  storage: StoragePage,
  events: EventsPage,
  sessions: SessionsPage,
  vex: VexPage,
  webhooks: WebhooksPage,
};

const Place = ({ page, path }: { readonly page: Extract<Page, { names: readonly string[] }>; readonly path: readonly GroupPlace[] }): ReactNode => {
  // A new page starts with its own state.
  const key = page.names.join("/");
  const { names } = page;
  if (page.kind === "repo") return <RepoPage key={`${key}//${page.repo}`} names={names} path={path} repo={page.repo} />;
  if (page.kind === "image") return <ImagePage key={page.digest} names={names} path={path} repo={page.repo} digest={page.digest} />;
  if (page.kind === "tag") return <TagPage key={page.tag} names={names} path={path} repo={page.repo} tag={page.tag} />;
  const Content = groupPages[page.kind];
  return <Content key={key} names={page.names} path={path} />;
};

/** The part of an address after its group. */
const restOf = ({ pathname, search }: URL): string => {
  const at = pathname.indexOf("/-/");
  return (at < 0 ? "" : pathname.slice(at)) + search;
};

/** The segment of an address that says most about the place. */
const lastNameIn = (page: Page): string => ("repo" in page ? page.repo : "names" in page ? (page.names.at(-1) ?? "") : "");

const Unknown = ({ page }: { readonly page: Page }): ReactNode => {
  const name = lastNameIn(page);
  return (
    <NotFound>
      {name === "" ? null : (
        <button type="button" className="button primary" onClick={() => showOverlay({ kind: "search", query: name })}>
          <Icon name="search" />
          <bdi>{texts.searchFor(name)}</bdi>
        </button>
      )}
    </NotFound>
  );
};

const Overlays = ({ page, path }: BreadcrumbProps): ReactNode => {
  const overlay = useOverlay();
  useEffect(() => {
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  if (overlay === undefined) return null;
  return <Suspense fallback={null}>{overlay.kind === "keys" ? <Keys /> : <Palette page={page} path={path ?? []} query={overlay.query} />}</Suspense>;
};

export const Shell = (): ReactNode => {
  const url = useAddress();
  const { outdated } = useSession();
  const [isOpen, setOpen] = useState(false);
  const page = pageAt(url.pathname);
  const names = "names" in page ? page.names : undefined;
  const place = useAsk(names === undefined ? undefined : placesAt(names));
  const paths = names === undefined ? undefined : place.data?.data;
  const path = paths?.length === 1 ? paths[0] : undefined;
  const roots = useAsk(treeGroups(undefined));
  const isBelow = roots.data?.data.groups.length === 0;
  const visible = useAsk(isBelow ? visibleGroups() : undefined);
  const groups = isBelow ? visible.data && topmost(visible.data.data.groups) : roots.data?.data.groups;
  const content = (): ReactNode => {
    if (page.kind === "home") return <HomePage />;
    if (page.kind === "account") return <AccountPage />;
    if (page.kind === "admin") return <AdminPage />;
    if (page.kind === "advisories") return page.id === undefined ? <AdvisoriesPage /> : <AdvisoryPage key={page.id} id={page.id} />;
    if (!("names" in page)) return <Unknown page={page} />;
    if (place.error) return <Failure error={place.error} retry={() => void place.refetch()} />;
    if (!paths) return <Skeleton rows={6} />;
    if (paths.length > 1) return <ChoicePage sent={place.data?.sent} paths={paths} rest={restOf(url)} />;
    return path ? <Place page={page} path={path} /> : <Unknown page={page} />;
  };
  return (
    <div className="shell" data-browsing={isOpen ? "" : undefined}>
      <a className="skip" href="#main">
        {texts.skip}
      </a>
      <header className="top">
        <button type="button" className="copy browse" aria-label={texts.browse} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? "close" : "menu"} />
        </button>
        <Link className="brand" href={root} aria-label={`${texts.product}: ${texts.home}`}>
          <Icon name="repo" />
          <span>{texts.product}</span>
        </Link>
        <Breadcrumb page={page} path={path} />
        <span className="space" />
        <button
          type="button"
          className="search-open"
          aria-haspopup="dialog"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => showOverlay({ kind: "search", query: "" })}
        >
          <Icon name="search" />
          <span className="search-label">{texts.searchOpen}</span>
          <kbd>{isApple ? "⌘ K" : "Ctrl K"}</kbd>
        </button>
        <a className="docs" href="/docs">
          {texts.docs}
        </a>
        <AccountMenu />
      </header>
      <nav className="side" aria-label={texts.groupTree}>
        <Link className="side-link" href={root} aria-current={page.kind === "home" ? "page" : undefined} onClick={() => setOpen(false)}>
          <Icon name="home" />
          {texts.home}
        </Link>
        <Link
          className="side-link"
          href={advisoriesAddress}
          aria-current={page.kind === "advisories" && page.id === undefined ? "page" : undefined}
          onClick={() => setOpen(false)}
        >
          <Icon name="shield" />
          {texts.vulnerabilities}
        </Link>
        <Link className="side-link" href={adminAddress} aria-current={page.kind === "admin" ? "page" : undefined} onClick={() => setOpen(false)}>
          <Icon name="gauge" />
          {texts.admin}
        </Link>
        <h2>{texts.groupTree}</h2>
        <GroupTree roots={groups} path={path ?? []} onOpen={() => setOpen(false)} />
      </nav>
      <main id="main">
        {outdated ? <Outdated /> : null}
        <Undo path={url.pathname} />
        <Boundary key={url.pathname}>
          <Suspense fallback={<Skeleton rows={6} />}>{content()}</Suspense>
        </Boundary>
      </main>
      <Overlays page={page} path={path} />
      <div id="announcements" role="status" className="unseen" />
    </div>
  );
};
