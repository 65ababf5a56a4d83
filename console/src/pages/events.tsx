// Recorded events of a group and everything below it. The filter and the open event are in the address.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { Event, EventHistory, ListEventsResponse } from "../../../client/package.ts";
import { Picker } from "../access/picker.tsx";
import { mine } from "../access/requests.ts";
import { addressOf, isUid, navigate, positionIn, useAddress, withParameter, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { actorOf, dataOf, sentenceOf, shortType } from "../events/sentence.ts";
import { exactTime } from "../format.ts";
import { boundsOf, type DayRange, Histogram, rangeIn } from "../histogram.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Icon, Link, Name, nameOr, Section, Time } from "../parts.tsx";
import { identitiesOf } from "../people/requests.ts";
import { useNames } from "../places.tsx";
import { pageFrom } from "../questions.ts";
import { texts } from "../texts/events.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const eventsIn = (group: string, type: string, range: DayRange, skip: number): Question<ListEventsResponse> => {
  const request = {
    uidp: { descendantsOf: group },
    ...(type === "" ? {} : { types: [type] }),
    ...boundsOf(range),
    orderBy: "position desc",
    ...pageFrom(skip),
  };
  return { name: "events.list", request, send: (gantry, signal) => gantry.events.list(request, { signal }).page() };
};

/** Events are kept that long. */
const shownDays = 30;

const daysIn = (group: string, type: string): Question<EventHistory> => {
  const request = { uidp: { descendantsOf: group }, ...(type === "" ? {} : { types: [type] }), dayCount: shownDays };
  return { name: "events.get-history", request, send: (gantry, signal) => gantry.events.getHistory(request, { signal }) };
};

/** Callers that can subscribe receive these events anyway. */
const needed = "subscriptions.create";

const isType = (text: string): boolean => /^[a-z][\w-]*(?:\.[\w-]+){2,}$/.test(text);

const Sentence = ({ event }: { readonly event: Event }): ReactNode => {
  const { thing, name, change } = sentenceOf(event);
  return (
    <>
      {thing} {name === "" ? null : <Name>{name}</Name>} {change}
    </>
  );
};

const Details = ({ event, group, names }: { readonly event: Event; readonly group: string; readonly names: readonly string[] }): ReactNode => {
  const url = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const data = dataOf(event);
  const fields = [
    [texts.type, event.type],
    [texts.subject, event.subject],
    [texts.eventId, event.eventId],
    [texts.requestId, event.requestId],
    [texts.source, event.source],
    [texts.position, event.position],
  ] as const;
  return (
    <section className="card details" aria-label={shortType(event.type)}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <Sentence event={event} />
        </h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(withParameter(url, "event", undefined), true)}>
          <Icon name="close" />
        </button>
      </header>
      <dl>
        <dt>{texts.when}</dt>
        <dd>{exactTime(event.createTime)}</dd>
        {fields.flatMap(([title, value]) =>
          value === ""
            ? []
            : [
                <dt key={`${title}-name`}>{title}</dt>,
                <dd key={title} className="long">
                  <bdi>{value}</bdi> <Copy text={value} what={title} />
                </dd>,
              ],
        )}
      </dl>
      <h3>{texts.json}</h3>
      {data === undefined ? (
        <p className="quiet details-text">{texts.unreadable}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard
        <section className="json" tabIndex={0} aria-label={texts.json}>
          <pre>{JSON.stringify(data, null, 2)}</pre>
        </section>
      )}
      {isUid(event.subject) && event.subject.startsWith(group) ? (
        <p className="details-note">
          <Link className="button" href={`${addressOf(names, "audit")}?subject=${event.subject}`}>
            {texts.inAudit}
          </Link>
        </p>
      ) : null}
    </section>
  );
};

interface FilterFormProps {
  readonly type: string;
  readonly known: readonly string[];
  readonly names: readonly string[];
}

const FilterForm = ({ type: first, known, names }: FilterFormProps): ReactNode => {
  const url = useAddress();
  const [type, setType] = useState(first);
  const [isWrong, setWrong] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wrong = type !== "" && !isType(type);
    setWrong(wrong);
    if (!wrong) navigate(withParameters(url, { type: type || undefined, skip: undefined, event: undefined }), true);
  };
  const clear = (): void => {
    setType("");
    setWrong(false);
    navigate(url.pathname, true);
  };
  return (
    <Section
      title={texts.filter}
      action={
        <Link className="button" href={addressOf(names, "webhooks")}>
          {texts.toWebhooks}
        </Link>
      }
    >
      <form className="search-form section-body" onSubmit={submit} noValidate>
        <Picker
          label={texts.typeOfEvent}
          hint={texts.typeHint}
          problem={isWrong ? texts.typeUnknown : undefined}
          value={type}
          choices={known.map((each) => ({ value: each, title: shortType(each) }))}
          onChange={setType}
        />
        <div className="actions primary">
          <button type="button" className="button" onClick={clear}>
            {texts.clearFilter}
          </button>
          <button type="submit" className="button">
            {texts.filter}
          </button>
        </div>
      </form>
    </Section>
  );
};

export const EventsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const group = path.at(-1)?.uid ?? "";
  const asked = url.searchParams.get("type") ?? "";
  const type = isType(asked) ? asked : "";
  const result = useAsk(eventsIn(group, type, rangeIn(url), positionIn(url, "skip")));
  const history = useAsk(daysIn(group, type));
  const events = result.data?.data.events ?? [];
  const own = new Set(useAsk(result.data && events.length === 0 ? mine(group) : undefined).data?.data.capabilities);
  const actors = [...new Set(events.map(actorOf))].filter(isUid).sort();
  const identities = useAsk(actors.length > 0 ? identitiesOf(actors) : undefined).data?.data.identities ?? [];
  const named = new Map(identities.map(({ uid, name, email }) => [uid, name || email]));
  const places = useNames(
    events.map(({ subject }) => subject).filter((uid) => isUid(uid) && !actors.includes(uid)),
    path,
  );
  const open = events.find(({ uid }) => uid === url.searchParams.get("event"));
  const known = [...new Set([...events.map((event) => event.type), ...(type === "" ? [] : [type])])].sort();
  const columns: readonly Column<Event>[] = [
    {
      title: texts.what,
      cell: (event) => (
        <span title={event.type}>
          <Link href={withParameter(url, "event", event.uid)} isSamePage>
            <Sentence event={event} />
          </Link>
        </span>
      ),
    },
    {
      title: texts.who,
      cell: (event) => {
        const actor = actorOf(event);
        return actor === "" ? <span className="quiet">{texts.server}</span> : <span className="long">{nameOr(named.get(actor) ?? "", actor)}</span>;
      },
    },
    {
      title: texts.subject,
      cell: ({ subject }) =>
        isUid(subject) ? (
          <span className="long">{nameOr(named.get(subject) || places.get(subject)?.name || "", subject)}</span>
        ) : (
          <span className="long">{<Name>{subject}</Name>}</span>
        ),
      minor: true,
    },
    { title: texts.when, cell: ({ createTime }) => <Time time={createTime} /> },
  ];
  return (
    <GroupFrame names={names} path={path} current="events" sent={[result.data?.sent, history.data?.sent]}>
      <p className="lead">{texts.eventsText}</p>
      <FilterForm key={type} type={type} known={known} names={names} />
      <Histogram
        result={history}
        daysOf={({ days }) => days.map(({ day, eventCount }) => ({ day, count: Number(eventCount) }))}
        dayCount={shownDays}
        count={texts.eventCount}
      />
      {open ? <Details key={open.uid} event={open} group={group} names={names} /> : null}
      <ListSection
        title={texts.recorded}
        result={result}
        itemsOf={(data) => data.events}
        columns={columns}
        count={texts.eventCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noEventsTitle}>
            <p>{own.size > 0 && !own.has(needed) ? texts.eventsNeed(needed) : texts.noEventsText}</p>
          </Empty>
        }
      />
    </GroupFrame>
  );
};
