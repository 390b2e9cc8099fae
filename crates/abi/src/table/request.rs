//! Rows of the function table: requests and statuses.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_request { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Cancel(request: *mut Request) [default] => request::cancel;
    both MPI_Get_count(status: *const Status, datatype: Datatype, count: *mut c_int) [default] => layout::get_count;
    both MPI_Get_count_c(status: *const Status, datatype: Datatype, count: *mut Count) [default] => layout::get_count;
    both MPI_Get_elements(status: *const Status, datatype: Datatype, count: *mut c_int)
        [default] => layout::get_elements;
    both MPI_Get_elements_c(status: *const Status, datatype: Datatype, count: *mut Count)
        [default] => layout::get_elements;
    both MPI_Get_elements_x(status: *const Status, datatype: Datatype, count: *mut Count)
        [default] => layout::get_elements;
    both MPI_Grequest_complete(request: Request) [default] => grequest::complete;
    both MPI_Grequest_start(query_fn: GrequestQueryFunction, free_fn: GrequestFreeFunction,
        cancel_fn: GrequestCancelFunction, extra_state: *mut c_void, request: *mut Request) [default] => grequest::start;
    both MPI_Request_free(request: *mut Request) [default] => request::free;
    both MPI_Request_get_status(request: Request, flag: *mut c_int, status: *mut Status)
        [default] => request::get_status;
    both MPI_Request_get_status_all(count: c_int, array_of_requests: *const Request, flag: *mut c_int,
        array_of_statuses: *mut Status) [default] => request::get_status_all;
    both MPI_Request_get_status_any(count: c_int, array_of_requests: *const Request, indx: *mut c_int, flag: *mut c_int,
        status: *mut Status) [default] => request::get_status_any;
    both MPI_Request_get_status_some(incount: c_int, array_of_requests: *const Request, outcount: *mut c_int,
        array_of_indices: *mut c_int, array_of_statuses: *mut Status) [default] => request::get_status_some;
    both MPI_Start(request: *mut Request) [default] => request::start;
    both MPI_Startall(count: c_int, array_of_requests: *mut Request) [default] => request::startall;
    both MPI_Status_get_error(status: *const Status, error: *mut c_int) [default] => status::get_error;
    both MPI_Status_get_source(status: *const Status, source: *mut c_int) [default] => status::get_source;
    both MPI_Status_get_tag(status: *const Status, tag: *mut c_int) [default] => status::get_tag;
    both MPI_Status_set_cancelled(status: *mut Status, flag: c_int) [default] => status::set_cancelled;
    both MPI_Status_set_elements(status: *mut Status, datatype: Datatype, count: c_int)
        [default] => layout::set_elements;
    both MPI_Status_set_elements_c(status: *mut Status, datatype: Datatype, count: Count)
        [default] => layout::set_elements;
    both MPI_Status_set_elements_x(status: *mut Status, datatype: Datatype, count: Count)
        [default] => layout::set_elements;
    both MPI_Status_set_error(status: *mut Status, error: c_int) [default] => status::set_error;
    both MPI_Status_set_source(status: *mut Status, source: c_int) [default] => status::set_source;
    both MPI_Status_set_tag(status: *mut Status, tag: c_int) [default] => status::set_tag;
    both MPI_Test(request: *mut Request, flag: *mut c_int, status: *mut Status) [default] => request::test;
    both MPI_Test_cancelled(status: *const Status, flag: *mut c_int) [default] => status::test_cancelled;
    both MPI_Testall(count: c_int, array_of_requests: *mut Request, flag: *mut c_int, array_of_statuses: *mut Status)
        [default] => request::testall;
    both MPI_Testany(count: c_int, array_of_requests: *mut Request, indx: *mut c_int, flag: *mut c_int,
        status: *mut Status) [default] => request::testany;
    both MPI_Testsome(incount: c_int, array_of_requests: *mut Request, outcount: *mut c_int,
        array_of_indices: *mut c_int, array_of_statuses: *mut Status) [default] => request::testsome;
    both MPI_Wait(request: *mut Request, status: *mut Status) [default] => request::wait;
    both MPI_Waitall(count: c_int, array_of_requests: *mut Request, array_of_statuses: *mut Status)
        [default] => request::waitall;
    both MPI_Waitany(count: c_int, array_of_requests: *mut Request, indx: *mut c_int, status: *mut Status)
        [default] => request::waitany;
    both MPI_Waitsome(incount: c_int, array_of_requests: *mut Request, outcount: *mut c_int,
        array_of_indices: *mut c_int, array_of_statuses: *mut Status) [default] => request::waitsome;
} } }
