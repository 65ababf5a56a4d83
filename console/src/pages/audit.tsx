// The audit log of a group and everything below it. The filter and the open entry are in the address.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { AuditEntry, AuditEntryHistory, ListAuditEntriesResponse, SearchResult } from "../../../client/package.ts";
import { useIdentities } from "../access/identities.ts";
import { Picker } from "../access/picker.tsx";
import { mine } from "../access/requests.ts";
import { isUid, navigate, positionIn, useAddress, withParameter, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { deedOf, titleOf } from "../audit/operation.ts";
import { entryOf, verificationOf } from "../audit/requests.ts";
import { VerificationSection } from "../audit/verification.tsx";
import { exactTime } from "../format.ts";
import { boundsOf, type DayRange, Histogram, rangeIn } from "../histogram.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Copy, Empty, Icon, Link, Name, nameOr, Section, Time } from "../parts.tsx";
import { identitiesOf } from "../people/requests.ts";
import { namesOf, namesMax, type Place, pageFrom } from "../questions.ts";
import { usePreview } from "../send.ts";
import { texts } from "../texts/audit.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

/** Every code but OK. */
const refusals = [
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

interface Filter {
  readonly caller: string;
  readonly subject: string;
  readonly isRefused: boolean;
}

const filterIn = (url: URL): Filter => ({
  caller: url.searchParams.get("caller") ?? "",
  subject: url.searchParams.get("subject") ?? "",
  isRefused: url.searchParams.has("refused"),
});

const selected = (group: string, { caller, subject, isRefused }: Filter) => ({
  uidp: { descendantsOf: group },
  ...(isUid(caller) ? { callerUids: [caller] } : {}),
  ...(isUid(subject) ? { subjects: [subject] } : {}),
  ...(isRefused ? { codes: refusals } : {}),
});

const entriesIn = (group: string, filter: Filter, range: DayRange, skip: number): Question<ListAuditEntriesResponse> => {
  const request = { ...selected(group, filter), ...boundsOf(range), ...pageFrom(skip) };
  return { name: "audit.entries.list", request, send: (gantry, signal) => gantry.audit.entries.list(request, { signal }).page() };
};

const shownDays = 90;

const daysIn = (group: string, filter: Filter): Question<AuditEntryHistory> => {
  const request = { ...selected(group, filter), dayCount: shownDays };
  return { name: "audit.entries.get-history", request, send: (gantry, signal) => gantry.audit.entries.getHistory(request, { signal }) };
};

/** The resource by its path as far as it still exists, with its uid to copy. */
const Subject = ({ uid, found }: { readonly uid: string; readonly found: SearchResult | undefined }): ReactNode => {
  if (uid === "") return <span className="quiet">{texts.none}</span>;
  const name = found?.path || found?.name || "";
  if (name === "") return nameOr("", uid);
  return (
    <span className="digest">
      <span className="long" title={uid}>
        <Name>{name}</Name>
      </span>
      <Copy text={uid} what="uid" />
    </span>
  );
};

const callerOf = ({ callerUid, act }: AuditEntry, named: ReadonlyMap<string, string>): ReactNode => {
  if (callerUid === "") return <span className="quiet">{texts.noIdentity}</span>;
  return nameOr(named.get(callerUid) || act.email || "", callerUid);
};

const isRefusedEntry = ({ code }: AuditEntry): boolean => code !== "OK";

const shown = ["operation", "type", "subject", "callerUid", "remoteAddress", "userAgent", "requestId", "eventId", "hash"] as const;

interface EntryProps {
  readonly entry: AuditEntry;
  /** Names of identities by uid. */
  readonly named: ReadonlyMap<string, string>;
  readonly found: SearchResult | undefined;
}

/** "release-robot tried to create a repo at acme/payments on 30 April 2026, from 192.0.2.1. It was refused with PERMISSION_DENIED." */
const Sentence = ({ entry, named, found }: EntryProps): ReactNode => {
  const { operation, subject, createTime, remoteAddress, code, count } = entry;
  const isRefused = isRefusedEntry(entry);
  const deed = deedOf(operation);
  const who = entry.callerUid === "" ? texts.anonymous : callerOf(entry, named);
  return (
    <p className="sentence details-text">
      {who} {deed ? (isRefused ? `${texts.triedTo} ${deed.tried}` : deed.done) : isRefused ? texts.triedToRun : texts.ran}
      {deed ? null : (
        <>
          {" "}
          <bdi>{operation}</bdi>
        </>
      )}
      {subject === "" ? null : (
        <>
          {": "}
          {nameOr(found?.path || found?.name || "", subject)}
        </>
      )}
      {`. ${texts.atTime(exactTime(createTime ?? ""))}`}
      {remoteAddress === "" ? null : (
        <>
          {` ${texts.fromAddress} `}
          <bdi>{remoteAddress}</bdi>
        </>
      )}
      {". "}
      {isRefused ? texts.refusedWith(code) : texts.succeeded} {Number(count) > 1 ? texts.represents(Number(count)) : null}
    </p>
  );
};

const Details = ({ entry, named, found }: EntryProps): ReactNode => {
  const url = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const lists = {
    bindingUids: entry.bindingUids,
    resourceUids: entry.resourceUids,
    act: Object.entries(entry.act).map(([name, value]) => `${name}: ${value}`),
  };
  return (
    <section className="card details" aria-label={texts.entryOf(entry.sequence)}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {titleOf(entry.operation)}
        </h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(withParameter(url, "entry", undefined), true)}>
          <Icon name="close" />
        </button>
      </header>
      <Sentence entry={entry} named={named} found={found} />
      <dl>
        <dt>{texts.result}</dt>
        <dd>
          <code>{entry.code}</code>
        </dd>
        <dt>{texts.fields.createTime}</dt>
        <dd>{exactTime(entry.createTime ?? "")}</dd>
        {shown.flatMap((field) =>
          entry[field] === ""
            ? []
            : [
                <dt key={`${field}-name`}>{texts.fields[field]}</dt>,
                <dd key={field} className="long">
                  <bdi>{entry[field]}</bdi> <Copy text={entry[field]} what={texts.fields[field]} />
                </dd>,
              ],
        )}
        {(["act", "bindingUids", "resourceUids"] as const).flatMap((field) =>
          lists[field].length === 0
            ? []
            : [
                <dt key={`${field}-name`}>{texts.fields[field]}</dt>,
                <dd key={field} className="long">
                  {lists[field].map((each) => (
                    <div key={each}>
                      <bdi>{each}</bdi>
                    </div>
                  ))}
                </dd>,
              ],
        )}
      </dl>
      <details className="choose-json">
        <summary>{texts.json}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard */}
        <section className="json" tabIndex={0} aria-label={texts.json}>
          <pre>{JSON.stringify(entry, null, 2)}</pre>
        </section>
      </details>
      <p className="quiet details-note">{texts.verifyText}</p>
      <Command text="npx gantry audit verify" what={texts.verifyText} />
    </section>
  );
};

const FilterForm = ({ path, filter }: { readonly path: readonly Place[]; readonly filter: Filter }): ReactNode => {
  const url = useAddress();
  const [caller, setCaller] = useState(filter.caller);
  const [subject, setSubject] = useState(filter.subject);
  const [isRefused, setRefused] = useState(filter.isRefused);
  const [wrong, setWrong] = useState({ caller: false, subject: false });
  const { choices, onType } = useIdentities(path, filter.caller);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = { caller: caller !== "" && !isUid(caller), subject: subject !== "" && !isUid(subject) };
    setWrong(found);
    if (found.caller || found.subject) return;
    const values = { caller: caller || undefined, subject: subject || undefined, refused: isRefused ? "" : undefined, skip: undefined, entry: undefined };
    navigate(withParameters(url, values), true);
  };
  const clear = (): void => {
    setCaller("");
    setSubject("");
    setRefused(false);
    navigate(url.pathname, true);
  };
  return (
    <Section title={texts.filter}>
      <form className="fields filters" onSubmit={submit} noValidate>
        <Picker
          label={texts.identity}
          hint={texts.identityHint}
          problem={wrong.caller ? texts.identityUnknown : undefined}
          value={caller}
          choices={choices}
          onChange={setCaller}
          onType={onType}
        />
        <div className="field">
          <label htmlFor="subject">{texts.uidOfResource}</label>
          <input
            id="subject"
            value={subject}
            aria-describedby="subject-about"
            aria-invalid={wrong.subject}
            onChange={({ target }) => setSubject(target.value.trim())}
          />
          <p id="subject-about" className={wrong.subject ? "problem" : "about"}>
            {wrong.subject ? texts.uidInvalid : texts.uidHint}
          </p>
        </div>
        <label className="check">
          <input type="checkbox" checked={isRefused} onChange={({ target }) => setRefused(target.checked)} />
          {texts.refusedOnly}
        </label>
        <div className="form-actions">
          <button type="button" className="button" onClick={clear}>
            {texts.clearFilter}
          </button>
          <button type="submit" className="button primary">
            {texts.filter}
          </button>
        </div>
      </form>
    </Section>
  );
};

export const AuditPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const filter = filterIn(url);
  const group = path.at(-1)?.uid ?? "";
  const result = useAsk(entriesIn(group, filter, rangeIn(url), positionIn(url, "skip")));
  const history = useAsk(daysIn(group, filter));
  const listed = result.data?.data.auditEntries ?? [];
  const chosen = url.searchParams.get("entry") ?? "";
  const known = listed.find(({ uid }) => uid === chosen);
  const single = useAsk(result.data && !known && isUid(chosen) ? entryOf(chosen) : undefined).data?.data;
  const open = known ?? single;
  const entries = single ? [...listed, single] : listed;
  const organization = path.length === 1 ? group : "";
  const own = new Set(useAsk(organization === "" ? undefined : mine(organization)).data?.data.capabilities);
  const mayVerify = own.has("identity.list") && own.has("role_bindings.list");
  const verification = usePreview(verificationOf(organization, ""));
  const callers = [...new Set(entries.map(({ callerUid }) => callerUid).filter((uid) => uid !== ""))].sort();
  const identities = useAsk(callers.length > 0 ? identitiesOf(callers) : undefined).data?.data.identities ?? [];
  const named = new Map(identities.map((each) => [each.uid, each.name || each.email]));
  const subjects = [...new Set(entries.map(({ subject }) => subject).filter(isUid))].sort().slice(0, namesMax);
  const results = useAsk(subjects.length > 0 ? namesOf(subjects) : undefined).data?.data.results ?? [];
  const found = new Map(results.map((each) => [each.uid, each]));
  const columns: readonly Column<AuditEntry>[] = [
    {
      title: texts.what,
      cell: (entry) => (
        <>
          <Link href={withParameter(url, "entry", entry.uid)} isSamePage>
            <Name>{titleOf(entry.operation)}</Name>
          </Link>
          {isRefusedEntry(entry) ? <Badge tone="warn">{entry.code}</Badge> : null}
          {Number(entry.count) > 1 ? <Badge tone="plain">{texts.requests(Number(entry.count))}</Badge> : null}
        </>
      ),
    },
    { title: texts.who, cell: (entry) => callerOf(entry, named) },
    { title: texts.onWhat, cell: ({ subject }) => <Subject uid={subject} found={found.get(subject)} />, minor: true },
    { title: texts.when, cell: ({ createTime }) => <Time time={createTime} /> },
  ];
  return (
    <GroupFrame names={names} path={path} current="audit" sent={[result.data?.sent, history.data?.sent, mayVerify ? verification : undefined]}>
      <FilterForm key={url.search} path={path} filter={filter} />
      <Histogram
        result={history}
        daysOf={({ days }) => days.map(({ day, entryCount }) => ({ day, count: Number(entryCount) }))}
        dayCount={shownDays}
        count={texts.entryCount}
      />
      {open ? <Details key={open.uid} entry={open} named={named} found={found.get(open.subject)} /> : null}
      <ListSection
        title={texts.auditTitle}
        result={result}
        itemsOf={(data) => data.auditEntries}
        columns={columns}
        count={texts.entryCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noEntriesTitle}>
            <p>{texts.noEntriesText}</p>
          </Empty>
        }
      />
      {mayVerify ? <VerificationSection key={organization} uid={organization} /> : null}
    </GroupFrame>
  );
};
