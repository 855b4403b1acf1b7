/**
 * The desk's pages, in the order of its navigation. A page joins by an entry here, an address in webapp/urls.py with the
 * same permission, and a component that takes what `DeskView` holds. Knows nothing of a page's content.
 */
import type { Component } from "svelte";
import type { Session } from "../protocol/api";

/** What a page of the desk is given. */
export interface DeskView {
  /** The address's part below the page's own: "" or for example "17". */
  rest: string;
  /** The address's query, without "?". */
  query: string;
  session: Session | null;
  onOpen: (address: string) => void;
  /** Something of the session is another now, such as a model's name. */
  onSession: () => void;
}

export interface DeskPage {
  /** Ends with a slash. */
  path: string;
  label: string;
  /** A user without it does not see the page. */
  permission: string;
  load: () => Promise<{ default: Component<DeskView> }>;
}

export const DESK_PAGES: readonly DeskPage[] = [
  {
    path: "/admin/",
    label: "Usage",
    permission: "usage.view_usagerecord",
    load: () => import("./OperatorPage.svelte"),
  },
  {
    path: "/admin/live/",
    label: "Live",
    permission: "usage.view_usagerecord",
    load: () => import("./live/LivePage.svelte"),
  },
  {
    path: "/admin/users/",
    label: "Users",
    permission: "usage.view_usagerecord",
    load: () => import("./users/UsersPage.svelte"),
  },
  {
    path: "/admin/models/",
    label: "Models",
    permission: "registry.change_registeredmodel",
    load: () => import("./models/ModelsPage.svelte"),
  },
  {
    path: "/admin/prices/",
    label: "Prices",
    permission: "billing.view_price",
    load: () => import("./prices/PricesPage.svelte"),
  },
  {
    path: "/admin/reprice/",
    label: "Re-price",
    permission: "usage.view_usagerecord",
    load: () => import("./reprice/AllReprice.svelte"),
  },
  {
    path: "/admin/alerts/",
    label: "Alerts",
    permission: "alerts.change_alertrule",
    load: () => import("./alerts/AlertsPage.svelte"),
  },
  {
    path: "/admin/notices/",
    label: "Notices",
    permission: "notices.view_notice",
    load: () => import("./notices/NoticesPage.svelte"),
  },
  {
    path: "/admin/safety/",
    label: "Safety",
    permission: "safety.change_policyversion",
    load: () => import("./safety/SafetyPage.svelte"),
  },
  {
    path: "/admin/retention/",
    label: "Retention",
    permission: "traces.change_siteretentionrule",
    load: () => import("./retention/RetentionPage.svelte"),
  },
  {
    path: "/admin/audit/",
    label: "Audit",
    permission: "auditlog.view_logentry",
    load: () => import("./audit/AuditPage.svelte"),
  },
];

/** The page at a path, and the part of the path below it; null: the path is of no page of the desk. */
export function deskPageAt(path: string): { page: DeskPage; rest: string } | null {
  for (const page of DESK_PAGES) {
    if (path === page.path) return { page, rest: "" };
    const rest = path.startsWith(page.path) ? path.slice(page.path.length).replace(/\/$/, "") : "";
    // The addresses below the first page are those of the other pages.
    if (page.path !== "/admin/" && rest && !rest.includes("/")) return { page, rest };
  }
  return null;
}

/** The pages that a user may see. */
export const pagesFor = (permissions: readonly string[]): DeskPage[] =>
  DESK_PAGES.filter(({ permission }) => permissions.includes(permission));
