// Stored events and facets of advisories. Pure.

import type { AdvisoryFacet } from "./advisory-facets.ts";
import { uidSegmentOf } from "./feed-rows.ts";
import type { AdvisoryRecord } from "./records.ts";

/** EventTypeFilter values by oneof member. */
const eventTypes = {
  detection: "EVENT_TYPE_FILTER_DETECTION",
  truePositiveDetermination: "EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION",
  fixed: "EVENT_TYPE_FILTER_FIXED",
  falsePositiveDetermination: "EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION",
  analysisNotPlanned: "EVENT_TYPE_FILTER_ANALYSIS_NOT_PLANNED",
  fixNotPlanned: "EVENT_TYPE_FILTER_FIX_NOT_PLANNED",
  pendingUpstreamFix: "EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX",
  patched: "EVENT_TYPE_FILTER_PATCHED",
  componentLocationChanged: "EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED",
} as const;

const approvedState = "REVIEW_STATE_APPROVED";

export interface AdvisoryEvent {
  readonly uid: string;
  readonly createTime: string;
  readonly author: string;
  readonly reviewer?: string;
  readonly reviewState: string;
  readonly issue?: string;
}

/** As toISOString formats. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns the events by time; ties keep the source's order. */
export const advisoryEventsOf = (record: AdvisoryRecord, uid: string): AdvisoryEvent[] => {
  const sorted = record.events.map((event) => ({ event, timeMs: Date.parse(event.time) })).sort((one, other) => one.timeMs - other.timeMs);
  const counts = new Map<string, number>();
  return sorted.map(({ event, timeMs }) => {
    const { author = record.author, reviewer, reviewState = approvedState, issue, data } = event;
    const content = JSON.stringify([timeMs, data]);
    // Repeated events count separately. The ordinal keeps uids stable if another event is inserted before.
    const earlier = counts.get(content) ?? 0;
    counts.set(content, earlier + 1);
    return {
      uid: `${uid}/${uidSegmentOf(content, String(earlier))}`,
      createTime: timeForm.test(event.time) ? event.time : new Date(timeMs).toISOString(),
      author,
      ...(reviewer === undefined ? {} : { reviewer }),
      reviewState,
      ...(issue === undefined ? {} : { issue }),
      ...data,
    };
  });
};

const distinctTexts = (texts: readonly string[]): string[] =>
  texts.length === 1 ? texts.filter((text) => text !== "") : [...new Set(texts)].filter((text) => text !== "").sort();

const eventTypeOf = (event: AdvisoryEvent): string => Object.entries(eventTypes).find(([member]) => member in event)?.[1] ?? "";

/** Returns the filterable values; many advisories share one facet. */
export const facetOf = (record: AdvisoryRecord, events: readonly AdvisoryEvent[]): AdvisoryFacet => {
  const latest = events.findLast(({ reviewState }) => reviewState === approvedState);
  return {
    artifactType: record.artifactType,
    artifactArchitecture: record.artifactArchitecture ?? "",
    componentType: record.componentType ?? "",
    latestEventType: latest ? eventTypeOf(latest) : "",
    eventTypes: distinctTexts(events.map(eventTypeOf)),
    eventReviewStates: distinctTexts(events.map(({ reviewState }) => reviewState)),
    eventAuthors: distinctTexts(events.map(({ author }) => author)),
    eventReviewers: distinctTexts(events.map(({ reviewer }) => reviewer ?? "")),
  };
};
