// A line of the home page: something needs attention, or is well.

import type { ReactNode } from "react";
import { Icon, type IconName, Link } from "./parts.tsx";

interface SignalProps {
  readonly icon: IconName;
  readonly isGood: boolean;
  readonly href?: string | undefined;
  readonly children: string;
}

export const Signal = ({ icon, isGood, href, children }: SignalProps): ReactNode => (
  <li className={isGood ? "signal" : "signal bad"}>
    <Icon name={icon} />
    {href === undefined ? <span>{children}</span> : <Link href={href}>{children}</Link>}
  </li>
);
