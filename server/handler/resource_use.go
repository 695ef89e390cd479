package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
)

// resourceUse handles requests about what jobs used of their resources.
type resourceUse struct{ *Deps }

func (h resourceUse) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/check_resources", "Compare what jobs used with what they requested", h.checkResources),
		rest.Handle("GET", "/workflows/{id}/resource_statistics", "Describe what jobs used, by the requirements that they share", h.statistics),
		rest.Handle("POST", "/workflows/{id}/correct_resources", "Adjust resource requirements to what jobs used; a dry run only shows the changes", h.correctResources),
	}
}

type checkResourcesParams struct {
	IDParams
	RunID          *int64   `query:"run_id" doc:"of this run; without it the latest result of each job"`
	All            *bool    `query:"all" doc:"also jobs that stayed within their limits"`
	IncludeFailed  *bool    `query:"include_failed" doc:"also attempts that did not succeed"`
	MinOverPercent *float64 `query:"min_over_percent" doc:"omit jobs that exceeded their request by less than this percentage; the default is 1"`
}

func (h resourceUse) checkResources(r *rest.Request[checkResourcesParams, rest.None]) (api.ResourceReport, error) {
	p := &r.Params
	return h.verbs().CheckResources(r.Context(), p.ID, api.ResourceFilter{
		RunID: p.RunID, All: Or(p.All, false), IncludeFailed: Or(p.IncludeFailed, false), MinOverPercent: Or(p.MinOverPercent, 1),
	})
}

func (h resourceUse) correctResources(r *rest.Request[IDParams, api.CorrectResourcesRequest]) (api.CorrectionReport, error) {
	return h.verbs().CorrectResources(r.Context(), by(r), r.Params.ID, &r.Body)
}

type statisticsParams struct {
	IDParams
	CompletedOnly *bool `query:"completed_only" doc:"only jobs that have completed"`
}

func (h resourceUse) statistics(r *rest.Request[statisticsParams, rest.None]) (api.ResourceStatistics, error) {
	return service.ResourceStatistics(r.Context(), h.verbs(), r.Params.ID, Or(r.Params.CompletedOnly, false))
}
