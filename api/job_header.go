package api

// JobHeader is the header of requests that are made on behalf of a running job;
// its value is the id of the job's workflow. Whatever the credentials of the
// request allow, it may then do no more than a job of that workflow may, so that
// anybody may send it.
const JobHeader = "Torc-Job-Of-Workflow"
