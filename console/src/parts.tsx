// Parts that all pages share.

import { type ComponentProps, Fragment, type MouseEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { ApiError } from "../../client/package.ts";
import { navigate, pageSizeIn, pageSizes, positionIn, replaceAddress, root, useAddress, withParameter } from "./address.ts";
import { exactTime, relativeTime, shortDigest, shortUid } from "./format.ts";
import { texts } from "./texts.ts";

/** A link within the console. Modified clicks open it as the browser would. */
export const Link = ({
  href,
  onClick,
  isSamePage = false,
  ...rest
}: ComponentProps<"a"> & { readonly href: string; readonly isSamePage?: boolean }): ReactNode => (
  <a
    {...rest}
    href={href}
    onClick={(event: MouseEvent<HTMLAnchorElement>) => {
      onClick?.(event);
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      navigate(href, isSamePage);
    }}
  />
);

const paths = {
  home: "M3 11 12 4l9 7v9a1 1 0 0 1-1 1h-5v-6H9v6H4a1 1 0 0 1-1-1z",
  group: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  repo: "M12 3 4 7v10l8 4 8-4V7zm0 0v18M4 7l8 4 8-4",
  copy: "M9 9h10v11H9zM5 15V4h10",
  check: "m5 13 4 4L19 7",
  chevron: "m9 6 6 6-6 6",
  menu: "M4 7h16M4 12h16M4 17h16",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 8c0-3.5 3-6 7-6s7 2.5 7 6",
  key: "M14.5 9.5a4 4 0 1 1-4-4 4 4 0 0 1 4 4zm-1 3L20 19m-3-3 2-2",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6z",
  close: "M6 6l12 12M18 6 6 18",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm5-2 4.5 4.5",
  tag: "M4 4h8l8 8-8 8-8-8zM8.5 8.5v.01",
  book: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11",
  keyboard: "M3 6h18v12H3zM7 10v.01M11 10v.01M15 10v.01M17 10v.01M8 14h8",
  exit: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5m4-5v5",
  edit: "M5 19l1-4L16 5l3 3L9 18l-4 1M14 7l3 3",
  move: "M4 12h16m-6-6 6 6-6 6",
  promote: "M12 20V5m-6 6 6-6 6 6",
  plus: "M12 5v14M5 12h14",
  redo: "M20 5v5h-5M20 10a8 8 0 1 0 .5 5",
  minus: "M6 12h12",
  gauge: "M4 17a8 8 0 1 1 16 0M12 17l4-6M4 17v.01M20 17v.01",
  download: "M12 4v11m-4-4 4 4 4-4M5 20h14",
  warning: "M12 4 2.5 20h19zM12 10v4m0 3v.01",
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { readonly name: IconName }): ReactNode => (
  <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);

/** Reads changes out to users of screen readers. */
export const announce = (text: string): void => {
  const region = document.querySelector("#announcements");
  if (region) region.textContent = text;
};

export const Copy = ({ text, what }: { readonly text: string; readonly what: string }): ReactNode => {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce(texts.copied);
    } catch {
      announce(texts.copyFailed);
    }
  };
  return (
    <button type="button" className={copied ? "copy done" : "copy"} aria-label={`${texts.copy}: ${what}`} title={texts.copy} onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
};

/** A command, with a button to copy it. */
export const Command = ({ text, what }: { readonly text: string; readonly what: string }): ReactNode => (
  <div className="command">
    <code>{text}</code>
    <Copy text={text} what={what} />
  </div>
);

export const Digest = ({ digest, href }: { readonly digest: string; readonly href?: string }): ReactNode => (
  <span className="digest">
    {href === undefined ? (
      <code title={digest}>{shortDigest(digest)}</code>
    ) : (
      <Link href={href} title={digest}>
        <code>{shortDigest(digest)}</code>
      </Link>
    )}
    <Copy text={digest} what={texts.digest} />
  </span>
);

export const Time = ({ time }: { readonly time: string | undefined }): ReactNode =>
  time === undefined || time === "" ? (
    <span className="quiet">{texts.never}</span>
  ) : (
    <time dateTime={time} title={exactTime(time)}>
      {relativeTime(time, Date.now())}
    </time>
  );

/** A name that a tenant has chosen: text in its own direction. */
export const Name = ({ children }: { readonly children: string }): ReactNode => <bdi>{children}</bdi>;

/** A name such as "registry.repo.created", which breaks after its dots. */
export const Dotted = ({ children }: { readonly children: string }): ReactNode => (
  <bdi className="words">
    {[...children.matchAll(/[^._]+[._]*|[._]+/g)].map(({ 0: part, index: start }) => (
      <Fragment key={start}>
        {start === 0 ? null : <wbr />}
        {part}
      </Fragment>
    ))}
  </bdi>
);

/** A name with the part that a search has found in it. */
export const Marked = ({ text, part }: { readonly text: string; readonly part: string }): ReactNode => {
  const start = part === "" ? -1 : text.toLowerCase().indexOf(part.toLowerCase());
  if (start < 0) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {text.slice(0, start)}
      <mark>{text.slice(start, start + part.length)}</mark>
      {text.slice(start + part.length)}
    </bdi>
  );
};

export const Badge = ({ tone, children }: { readonly tone: "good" | "warn" | "plain"; readonly children: string }): ReactNode => (
  <span className={`badge ${tone}`}>{children}</span>
);

export const Expiry = ({ time }: { readonly time: string | undefined }): ReactNode =>
  time !== undefined && Date.parse(time) < Date.now() ? <Badge tone="warn">{texts.expired}</Badge> : <Time time={time} />;

/** A name, or a part of the uid if there is none. */
export const nameOr = (name: string, uid: string): ReactNode => (name === "" ? <code title={uid}>{shortUid(uid)}</code> : <Name>{name}</Name>);

export const Empty = ({ icon, title, children }: { readonly icon: IconName; readonly title: string; readonly children: ReactNode }): ReactNode => (
  <div className="empty">
    <span className="empty-icon">
      <Icon name={icon} />
    </span>
    <p className="empty-title">{title}</p>
    {children}
  </div>
);

export const Skeleton = ({ rows = 4 }: { readonly rows?: number }): ReactNode => (
  <div className="skeleton" role="status" aria-label={texts.loading}>
    {Array.from({ length: rows }, (_, row) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
      <span key={row} />
    ))}
  </div>
);

/** An error as one sentence, with a way on. */
export const Failure = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): ReactNode => {
  const isDenied = error instanceof ApiError && error.code === "PERMISSION_DENIED";
  const isOffline = error instanceof ApiError && error.reason === "NO_CONNECTION";
  const isInvalid = error instanceof ApiError && error.code === "INVALID_ARGUMENT";
  const title = isDenied ? texts.deniedTitle : isInvalid ? texts.invalidTitle : texts.failedTitle;
  return (
    <Empty icon={isDenied ? "key" : "warning"} title={title}>
      <p>{isOffline ? texts.offline : error instanceof Error ? error.message : String(error)}</p>
      {error instanceof ApiError && error.requestId !== undefined && !isDenied && !isInvalid ? (
        <p className="quiet">
          {texts.requestId}: <code>{error.requestId}</code>
        </p>
      ) : null}
      {retry && !isDenied && !isInvalid ? (
        <button type="button" className="button" onClick={retry}>
          {texts.retry}
        </button>
      ) : null}
    </Empty>
  );
};

export const NotFound = ({ children }: { readonly children?: ReactNode }): ReactNode => (
  <div className="empty">
    <span className="empty-icon">
      <Icon name="warning" />
    </span>
    <h1 tabIndex={-1}>{texts.notFoundTitle}</h1>
    <p>{texts.notFoundText}</p>
    {children}
    <Link className="button" href={root}>
      {texts.toHome}
    </Link>
  </div>
);

/** Pages of a list, with the position in the address. */
export const Pager = ({ total, parameter, what }: { readonly total: number; readonly parameter: string; readonly what: string }): ReactNode => {
  const url = useAddress();
  const skip = positionIn(url, parameter);
  const toPosition = (position: number): string => withParameter(url, parameter, position <= 0 ? undefined : String(position));
  if (skip >= total && skip > 0)
    return (
      <p className="pager">
        {texts.beyond(total)} <Link href={toPosition(0)}>{texts.toFirst}</Link>
      </p>
    );
  if (total <= pageSizes[0]) return null;
  const pageSize = pageSizeIn(url);
  const last = Math.min(skip + pageSize, total);
  return (
    <nav className="pager" aria-label={texts.pages(what)}>
      <span>{texts.range(skip + 1, last, total)}</span>
      <label>
        {texts.rows}
        <select
          value={pageSize}
          onChange={({ target }) => replaceAddress(withParameter(url, "rows", target.value === String(pageSizes[0]) ? undefined : target.value))}
        >
          {pageSizes.map((size) => (
            <option key={size}>{size}</option>
          ))}
        </select>
      </label>
      {skip > 0 ? (
        <Link className="button" href={toPosition(skip - pageSize)}>
          {texts.previous}
        </Link>
      ) : null}
      {last < total ? (
        <Link className="button" href={toPosition(skip + pageSize)}>
          {texts.next}
        </Link>
      ) : null}
    </nav>
  );
};

export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item) => ReactNode;
  /** Left out on narrow screens. */
  readonly minor?: boolean;
  /** A button at the end of the row; its title is for screen readers. */
  readonly action?: boolean;
}

const classOf = ({ minor, action }: { readonly minor: boolean | undefined; readonly action: boolean | undefined }): string | undefined =>
  minor ? "minor" : action ? "action" : undefined;

interface TableProps<Item> {
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
}

export const Table = <Item extends { readonly uid: string }>({ caption, columns, items }: TableProps<Item>): ReactNode => (
  <table>
    <caption className="unseen">{caption}</caption>
    <thead>
      <tr>
        {columns.map(({ title, minor, action }) => (
          <th key={title} scope="col" className={classOf({ minor, action })}>
            {action ? <span className="unseen">{title}</span> : title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {items.map((item) => (
        <tr key={item.uid}>
          {columns.map(({ title, cell, minor, action }, index) =>
            index === 0 ? (
              <th key={title} scope="row">
                {cell(item)}
              </th>
            ) : (
              <td key={title} className={classOf({ minor, action })}>
                {cell(item)}
              </td>
            ),
          )}
        </tr>
      ))}
    </tbody>
  </table>
);

interface SectionProps {
  readonly title: string;
  readonly count?: string | undefined;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

export const Section = ({ title, count, action, children }: SectionProps): ReactNode => {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {count === undefined ? null : <span className="count">{count}</span>}
        {action}
      </header>
      {children}
    </section>
  );
};

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly key: string; readonly title: string; readonly href: string }[];
  readonly current: string;
  /** The tabs are views of one page. */
  readonly isSamePage?: boolean;
  /** The current page is one below that of its tab. */
  readonly isWithin?: boolean;
  /** Tabs below others. */
  readonly isSecond?: boolean;
}

/** Links to the sections of a page. */
export const Tabs = ({ label, tabs, current, isSamePage = false, isWithin = false, isSecond = false }: TabsProps): ReactNode => {
  const place = useRef<HTMLElement>(null);
  // Narrow screens show a part of the tabs.
  useEffect(() => {
    if (current !== "") place.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav className={isSecond ? "tabs second" : "tabs"} ref={place} aria-label={label}>
      {tabs.map(({ key, title, href }) => (
        <Link key={key} href={href} isSamePage={isSamePage} aria-current={key === current ? (isWithin ? "true" : "page") : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
};

let focusedPath: string | undefined;

/** Sets the title, and moves the focus to the heading after a navigation, so that screen readers read the page. */
export const usePageTitle = (title: string): void => {
  const path = useAddress().pathname;
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
  }, [title]);
  useEffect(() => {
    if (focusedPath !== undefined && focusedPath !== path) document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    focusedPath = path;
  }, [path]);
};
