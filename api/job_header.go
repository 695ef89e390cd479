package api

// JobHeader is the header of requests that a running job makes; its value is the id of the
// job's workflow. It limits what the credentials of the request allow to what a job of
// that workflow may do, so any client may send it.
const JobHeader = "Torc-Job-Of-Workflow"
