// Subscriptions of a group and everything below it, and their deliveries. The state of the shown deliveries is in the address.

import { type ReactNode, useState } from "react";
import type { Delivery, DeliveryHistory, DeliveryState, ListDeliveriesResponse, ListSubscriptionsResponse, Subscription } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { shortType } from "../events/sentence.ts";
import { boundsOf, type DayRange, Histogram, rangeIn } from "../histogram.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Copy, Dotted, Empty, Icon, Link, Name, nameOr, Time } from "../parts.tsx";
import { pageFrom } from "../questions.ts";
import { texts } from "../texts/webhooks.ts";
import { deleteSubscription } from "../webhooks/requests.ts";
import { SubscriptionForm } from "../webhooks/subscription-form.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const below = (group: string, skip: number) => ({ uidp: { descendantsOf: group }, ...pageFrom(skip) });

const subscriptionsIn = (group: string, skip: number): Question<ListSubscriptionsResponse> => {
  const request = below(group, skip);
  return { name: "events.subscriptions.list", request, send: (gantry, signal) => gantry.events.subscriptions.list(request, { signal }).page() };
};

const deliveriesIn = (group: string, state: DeliveryState | undefined, range: DayRange, skip: number): Question<ListDeliveriesResponse> => {
  const request = { ...below(group, skip), ...(state === undefined ? {} : { states: [state] }), ...boundsOf(range), orderBy: "create_time desc" };
  return { name: "events.deliveries.list", request, send: (gantry, signal) => gantry.events.deliveries.list(request, { signal }).page() };
};

const shownDays = 30;

const daysIn = (group: string, state: DeliveryState | undefined): Question<DeliveryHistory> => {
  const request = { uidp: { descendantsOf: group }, ...(state === undefined ? {} : { states: [state] }), dayCount: shownDays };
  return { name: "events.deliveries.get-history", request, send: (gantry, signal) => gantry.events.deliveries.getHistory(request, { signal }) };
};

const redeliver = (uid: string): Question<Delivery> => ({
  name: "events.deliveries.redeliver",
  request: { uid },
  send: (gantry, signal) => gantry.events.deliveries.redeliver({ uid }, { signal }),
});

/** States by their word in the address. */
const filters = {
  dead: "DELIVERY_STATE_DEAD",
  pending: "DELIVERY_STATE_PENDING",
  delivered: "DELIVERY_STATE_DELIVERED",
  dropped: "DELIVERY_STATE_DROPPED",
} as const;
type FilterName = keyof typeof filters;
const filterNames: readonly FilterName[] = ["dead", "pending", "delivered", "dropped"];

const State = ({ subscription }: { readonly subscription: Subscription }): ReactNode => {
  if (!subscription.enabled) return <Badge tone="warn">{texts.off}</Badge>;
  if (subscription.failingSince === undefined) return <Badge tone="good">{texts.sending}</Badge>;
  return (
    <>
      <Badge tone="warn">{texts.failingSince}</Badge> <Time time={subscription.failingSince} />
    </>
  );
};

const Events = ({ subscription }: { readonly subscription: Subscription }): ReactNode => {
  const { eventTypes, minFindingSeverity, exploitedFindings } = subscription;
  const severity = minFindingSeverity === "FINDING_SEVERITY_UNSPECIFIED" ? undefined : texts.minSeverities[minFindingSeverity];
  const types = eventTypes.length === 0 ? texts.allTypes : texts.typeCount(eventTypes.length);
  const exploited = exploitedFindings ? (severity === undefined ? texts.exploitedFindings : texts.orExploited) : undefined;
  return <span title={eventTypes.join("\n")}>{[types, severity, exploited].filter((part) => part !== undefined).join(" · ")}</span>;
};

const subscriptionColumns = (remove: ((subscription: Subscription) => void) | undefined): readonly Column<Subscription>[] => [
  {
    title: texts.sink,
    cell: ({ uid, sink }) => (
      <span className="digest">
        <span className="long">
          <Name>{sink}</Name>
        </span>
        <Copy text={uid} what="uid" />
      </span>
    ),
  },
  {
    title: texts.eventTypes,
    cell: (subscription) => <Events subscription={subscription} />,
    minor: true,
  },
  { title: texts.state, cell: (subscription) => <State subscription={subscription} /> },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (subscription: Subscription) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.deleteSubscriptionOf(subscription.sink)}
              onClick={() => remove(subscription)}
            >
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

const tones: Readonly<Record<DeliveryState, "good" | "warn" | "plain">> = {
  DELIVERY_STATE_UNSPECIFIED: "plain",
  DELIVERY_STATE_PENDING: "plain",
  DELIVERY_STATE_WAITING: "plain",
  DELIVERY_STATE_DELIVERED: "good",
  DELIVERY_STATE_DEAD: "warn",
  DELIVERY_STATE_DROPPED: "warn",
};

const columnsFor = (sinks: ReadonlyMap<string, string>, again: ((delivery: Delivery) => void) | undefined): readonly Column<Delivery>[] => [
  {
    title: texts.eventType,
    cell: ({ type }) => (
      <span className="long" title={type}>
        <Dotted>{shortType(type)}</Dotted>
      </span>
    ),
  },
  {
    title: texts.sink,
    cell: ({ subscriptionUid }) => <span className="long">{nameOr(sinks.get(subscriptionUid) ?? "", subscriptionUid)}</span>,
    minor: true,
  },
  { title: texts.state, cell: ({ state }) => <Badge tone={tones[state]}>{texts.deliveryStates[state]}</Badge> },
  { title: texts.attempts, cell: ({ attempts }) => String(attempts), minor: true },
  { title: texts.lastAnswer, cell: ({ statusClass }) => statusClass || <span className="quiet">{texts.none}</span>, minor: true },
  { title: texts.when, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(again
    ? [
        {
          title: texts.sendAgain,
          action: true,
          cell: (delivery: Delivery) =>
            delivery.state === "DELIVERY_STATE_DEAD" || delivery.state === "DELIVERY_STATE_DELIVERED" ? (
              <button type="button" className="button quiet-button" aria-label={texts.sendAgainOf(shortType(delivery.type))} onClick={() => again(delivery)}>
                <span className="wide-only">{texts.sendAgain}</span>
                <Icon name="redo" />
              </button>
            ) : null,
        },
      ]
    : []),
];

export const WebhooksPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const place = path.at(-1) ?? { uid: "", name: "" };
  const { uid } = place;
  const filter = filterNames.find((each) => each === url.searchParams.get("state"));
  const subscriptions = useAsk(subscriptionsIn(uid, positionIn(url, "subscriptions")));
  const deliveries = useAsk(deliveriesIn(uid, filter && filters[filter], rangeIn(url), positionIn(url, "skip")));
  const history = useAsk(daysIn(uid, filter && filters[filter]));
  const own = new Set(useAsk(mine(uid)).data?.data.capabilities);
  const maySend = own.has("subscriptions.update");
  const mayAdd = own.has("subscriptions.create");
  const lacking = ["subscriptions.create", "subscriptions.delete"].filter((name) => !own.has(name));
  const sinks = new Map(subscriptions.data?.data.subscriptions.map((each) => [each.uid, each.sink]));
  const [again, setAgain] = useState<Delivery>();
  const [removing, setRemoving] = useState<Subscription>();
  return (
    <GroupFrame names={names} path={path} current="webhooks" sent={[subscriptions.data?.sent, deliveries.data?.sent, history.data?.sent]}>
      <ListSection
        title={texts.subscriptions}
        {...(own.size === 0 || lacking.length === 0 ? {} : { about: texts.addNeeds(lacking) })}
        action={
          mayAdd ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.newSubscription}
            </button>
          ) : undefined
        }
        result={subscriptions}
        itemsOf={(data) => data.subscriptions}
        columns={subscriptionColumns(own.has("subscriptions.delete") ? setRemoving : undefined)}
        count={texts.subscriptionCount}
        parameter="subscriptions"
        empty={
          <Empty icon="group" title={texts.noSubscriptionsTitle}>
            <p>{texts.noSubscriptionsText}</p>
            <a className="button" href="/docs/guides/events">
              {texts.eventsGuide}
            </a>
          </Empty>
        }
      />
      <nav className="states" aria-label={texts.states}>
        {[undefined, ...filterNames].map((each) => (
          <Link
            key={each ?? ""}
            href={withParameters(url, { state: each, skip: undefined })}
            isSamePage
            aria-current={each === filter ? "true" : undefined}
            className="button"
          >
            {each === undefined ? texts.anyState : texts.deliveryStates[filters[each]]}
          </Link>
        ))}
      </nav>
      <Histogram
        result={history}
        daysOf={({ days }) => days.map(({ day, deliveryCount }) => ({ day, count: Number(deliveryCount) }))}
        dayCount={shownDays}
        count={texts.deliveryCount}
      />
      <ListSection
        title={texts.deliveries}
        {...(own.size === 0 || maySend ? {} : { about: texts.sendNeeds(["subscriptions.update"]) })}
        result={deliveries}
        itemsOf={(data) => data.deliveries}
        columns={columnsFor(sinks, maySend ? setAgain : undefined)}
        count={texts.deliveryCount}
        parameter="skip"
        empty={
          <Empty icon="check" title={texts.noDeliveriesTitle}>
            <p>{texts.noDeliveriesText}</p>
          </Empty>
        }
      />
      {mayAdd && url.searchParams.has("add") ? (
        <SubscriptionForm place={place} mayTest={maySend} onClose={() => replaceAddress(withParameter(url, "add", undefined))} />
      ) : null}
      {removing ? (
        <Confirm
          title={texts.deleteSubscription}
          about={<Name>{removing.sink}</Name>}
          effect={texts.deleteSubscriptionText}
          question={deleteSubscription(removing.uid)}
          done={texts.subscriptionDeleted}
          deletes={{ uid: removing.uid, name: removing.sink }}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
      {again ? (
        <Confirm
          title={texts.sendAgain}
          about={
            <>
              <code>{again.type}</code>: {nameOr(sinks.get(again.subscriptionUid) ?? "", again.subscriptionUid)}
            </>
          }
          effect={texts.sendAgainText}
          question={redeliver(again.uid)}
          done={texts.sentAgain}
          isDangerous={false}
          onClose={() => setAgain(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
